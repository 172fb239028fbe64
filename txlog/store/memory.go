package store

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/conchhq/conch/txlog"
)

// Memory is a store that ends with its process.
type Memory struct {
	genesis txlog.Genesis

	mu        sync.Mutex
	view      View
	values    map[string][]byte
	records   []txlog.Record
	slots     []Slot
	heads     map[uint64]txlog.Head
	snapshots map[uint64][]byte
	closed    bool
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store with an id.
func NewMemory(id uint64, g txlog.Genesis) *Memory {
	return &Memory{
		genesis: g, view: View{ID: id, Floor: g.Start(), Last: g.Start()},
		values: map[string][]byte{}, heads: map[uint64]txlog.Head{}, snapshots: map[uint64][]byte{},
	}
}

// Clone returns another store with the same id and content: what is written to one of them is not in the other.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{
		genesis: m.genesis, view: m.view.Clone(), values: maps.Clone(m.values), records: slices.Clone(m.records), slots: slices.Clone(m.slots),
		heads: maps.Clone(m.heads), snapshots: maps.Clone(m.snapshots), closed: m.closed,
	}
}

// View implements Store.
func (m *Memory) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view.Clone()
}

// Genesis implements Store.
func (m *Memory) Genesis() txlog.Genesis { return m.genesis }

// Value implements Store.
func (m *Memory) Value(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.values[name])
}

// Names implements Store.
func (m *Memory) Names(prefix string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return namesIn(m.values, prefix)
}

// namesIn returns the names that begin with a prefix, sorted.
func namesIn(values map[string][]byte, prefix string) []string {
	names := slices.Sorted(maps.Keys(values))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// Write implements Store.
func (m *Memory) Write(step Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	next, err := m.view.Next(step)
	if err != nil {
		return err
	}
	if err := step.CheckNumber(m.values); err != nil {
		return err
	}
	kept := m.slots
	if step.Empty {
		kept = nil
	}
	if len(step.Slots) > 0 && len(kept) > 0 {
		kept = kept[:step.Slots[0].Index-kept[0].Index]
	}
	before := uint64(0)
	for i := len(kept) - 1; i >= 0 && before == 0; i-- {
		if r := kept[i].Record; r.Raw() != nil {
			before = r.Index
		}
	}
	if err := step.CheckRecords(before); err != nil {
		return err
	}
	m.set(step)
	m.slots = kept
	for _, s := range step.Slots {
		m.slots = append(m.slots, Slot{Index: s.Index, Body: append([]byte{}, s.Body...), Record: s.Record})
	}
	m.slots = slices.DeleteFunc(m.slots, func(s Slot) bool { return s.Index < next.FirstSlot })
	m.records = append(m.records, step.Records...)
	m.view = next
	return nil
}

// Records implements Store.
func (m *Memory) Records(from uint64, most int) ([]txlog.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	n, err := m.view.RecordsFrom(from)
	if err != nil {
		return nil, err
	}
	rest := m.records[len(m.records)-n:]
	for i := range rest {
		if most -= len(rest[i].Raw()); most < 0 && i > 0 {
			rest = rest[:i]
			break
		}
	}
	return slices.Clone(rest), nil
}

// Slots implements Store.
func (m *Memory) Slots(from uint64, most int) ([]Slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	n, err := m.view.SlotsFrom(from)
	if err != nil {
		return nil, err
	}
	var out []Slot
	for _, s := range m.slots[len(m.slots)-n:] {
		if most -= s.Size(); most < 0 && len(out) > 0 {
			break
		}
		out = append(out, Slot{Index: s.Index, Body: bytes.Clone(s.Body), Record: s.Record})
	}
	return out, nil
}

// Flush implements Store.
func (m *Memory) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return nil
}

// Head implements Store.
func (m *Memory) Head(from, upto uint64) (head txlog.Head, found bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return txlog.Head{}, false, ErrClosed
	}
	for index, h := range m.heads {
		if index >= from && index <= upto && index >= head.Index {
			head, found = h, true
		}
	}
	return head, found, nil
}

// Keep implements Store.
func (m *Memory) Keep(at txlog.Position, snapshot []byte, with Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	ahead, known, err := m.view.Place(at, len(snapshot), with, func(index uint64) (txlog.Hash, error) {
		return m.records[index-m.view.Floor.Index-1].Hash(), nil
	})
	if err != nil {
		return err
	}
	if err := with.CheckNumber(m.values); err != nil {
		return err
	}
	if !known {
		m.snapshots[at.Index] = bytes.Clone(snapshot)
		m.view = m.view.With(Kept{At: at, Size: len(snapshot), Hash: sha256.Sum256(snapshot)}, ahead)
	}
	if ahead {
		m.records = nil
		m.dropHeads(at.Index)
	}
	m.set(with)
	return nil
}

// set changes values and heads.
func (m *Memory) set(step Step) {
	for name, value := range step.Values {
		if value == nil {
			delete(m.values, name)
		} else {
			m.values[name] = append([]byte{}, value...)
		}
	}
	for _, h := range step.Heads {
		m.heads[h.Index] = h
	}
}

func (m *Memory) dropHeads(below uint64) {
	maps.DeleteFunc(m.heads, func(index uint64, _ txlog.Head) bool { return index < below })
}

// Piece implements Store.
func (m *Memory) Piece(index uint64, offset, most int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	kept, err := m.view.Find(index, offset, most)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(m.snapshots[index][offset:min(offset+most, kept.Size)]), nil
}

// Compact implements Store.
func (m *Memory) Compact(upto uint64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, ErrClosed
	}
	if err := m.view.Compactable(upto); err != nil {
		return false, err
	}
	m.view.Kept = slices.DeleteFunc(slices.Clone(m.view.Kept), func(k Kept) bool {
		if k.At.Index < upto {
			delete(m.snapshots, k.At.Index)
		}
		return k.At.Index < upto
	})
	m.dropHeads(upto)
	if upto > m.view.Floor.Index {
		n := upto - m.view.Floor.Index
		m.view.Floor = m.records[n-1].Position()
		m.records = slices.Clone(m.records[n:])
	}
	return false, nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
