package disk

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// A slot's value is its checksum, the length of its body, the body, and the bytes of its record. When that record is added to
// the log, nothing is written: it is read here. So a slot that is dropped stays in the file while the log has its record; the
// first one that is there is state.LowSlot.

// places is what is in memory of the slots in the file.
type places struct {
	low uint64 // index of the first one
	all []place
}

// place is one of them. Readers have older slices of the same array: only holds changes in it, under mu, and never back.
type place struct {
	sum    txlog.Hash // the checksum of its value: the file may have an older one whose checksum is right
	record uint64     // the index of the newest record in the slots up to here
	hash   txlog.Hash // of its own record; zero: it has none
	holds  bool       // the log's record is here, and not in the bucket of records
}

func (s *places) push(framed []byte, of store.Slot) {
	p := place{sum: txlog.Hash(framed[:sha256.Size]), record: s.newest(len(s.all)), hash: of.Record.Hash()}
	if of.Record.Raw() != nil {
		p.record = of.Record.Index
	}
	s.all = append(s.all, p)
}

// newest returns the index of the newest record in the first slots; 0: there is none.
func (s *places) newest(many int) uint64 {
	if many == 0 {
		return 0
	}
	return s.all[many-1].record
}

// find returns where a record would be.
func (s *places) find(record uint64) (i int, is bool) {
	return slices.BinarySearchFunc(s.all, record, func(p place, record uint64) int { return cmp.Compare(p.record, record) })
}

// slotSum is the checksum of a slot's value. The record is bound by its hash, which is known; zero: there is none.
func slotSum(id uint64, key, body []byte, record txlog.Hash) [sha256.Size]byte {
	var room [1 << 10]byte
	bound := append(binary.AppendUvarint(room[:0], uint64(len(body))), body...)
	if !record.IsZero() {
		bound = append(bound, record[:]...)
	}
	return checksum(id, slotBucket, key, bound)
}

func appendSlot(out []byte, id uint64, key []byte, s store.Slot) []byte {
	c := slotSum(id, key, s.Body, s.Record.Hash())
	out = binary.AppendUvarint(append(out, c[:]...), uint64(len(s.Body)))
	return append(append(out, s.Body...), s.Record.Raw()...)
}

// unframeSlot returns a slot, whose bytes are parts of framed. The error is damage, or txlog.ErrVersion if a newer program has
// written it. What was flipped is damage, whatever it seems to be: its bytes are not those that were summed.
func unframeSlot(id uint64, key, framed []byte) (s store.Slot, err error) {
	if len(framed) < sha256.Size || len(key) != 8 {
		return s, damage("a slot is cut off")
	}
	rest := framed[sha256.Size:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return s, damage("a slot is cut off")
	}
	s.Index, s.Body = binary.BigEndian.Uint64(key), rest[n:n+int(size)]
	var hash txlog.Hash
	if raw := rest[n+int(size):]; len(raw) > 0 {
		if s.Record, err = txlog.Own(raw); err != nil {
			hash = txlog.HashRecord(raw)
		} else {
			hash = s.Record.Hash()
		}
	}
	switch c := slotSum(id, key, s.Body, hash); {
	case !bytes.Equal(c[:], framed[:sha256.Size]):
		return s, damage("slot %d is not what was written", s.Index)
	case errors.Is(err, txlog.ErrVersion):
		return s, fmt.Errorf("slot %d: %w", s.Index, err)
	case err != nil:
		return s, damage("slot %d has no record: %s", s.Index, err)
	}
	return s, nil
}

// replace stores slots, and drops those that were at the first one's index and after it.
func (c *change) replace(with []store.Slot) {
	if len(with) == 0 || c.err != nil {
		return
	}
	if len(c.slots.all) == 0 {
		c.slots.low = with[0].Index
	}
	if keep := int(with[0].Index - c.slots.low); keep < len(c.slots.all) {
		c.vacate(keep)
		for i := keep; i < len(c.slots.all); i++ {
			c.remove(slotBucket, number(c.slots.low+uint64(i)))
		}
		c.slots.all = slices.Clone(c.slots.all[:keep]) // readers have the old ones
	}
	for _, s := range with {
		if c.err != nil {
			return
		}
		key, at := number(s.Index), len(c.room)
		c.room = appendSlot(c.room, c.state.ID, key, s)
		framed := c.room[at:len(c.room):len(c.room)]
		c.set(slotBucket, key, framed)
		c.slots.push(framed, s)
	}
}

// vacate gives the log's records in the slots from one on a place of their own.
func (c *change) vacate(from int) {
	for i, p := range c.slots.all[from:] {
		if !p.holds || p.record <= c.state.Floor.Index || c.err != nil {
			continue
		}
		key := number(c.slots.low + uint64(from+i))
		s, err := unframeSlot(c.state.ID, key, c.open[slotBucket].Get(key))
		if c.keep(err); err == nil && s.Record.Hash() != p.hash {
			c.keep(damage("slot %d is an older one", s.Index))
		}
		c.add(recordBucket, number(p.record), s.Record.Raw())
	}
}

// log adds records to the log. One that is in a slot is there already.
func (c *change) log(records []txlog.Record) {
	var rest []txlog.Record
	c.mu.Lock()
	for _, r := range records {
		if i, is := c.slots.find(r.Index); is && c.slots.all[i].hash == r.Hash() {
			c.slots.all[i].holds = true
		} else {
			rest = append(rest, r)
		}
	}
	c.mu.Unlock()
	for _, r := range rest {
		c.add(recordBucket, number(r.Index), r.Raw())
	}
}

// drop drops slots that neither the authority nor the log needs any more, a bounded number.
func (c *change) drop(next store.View) {
	for n := 0; n < mostDropped && len(c.slots.all) > 0 && c.slots.low < next.FirstSlot && c.err == nil; n++ {
		if p := c.slots.all[0]; p.holds && p.record > next.Floor.Index {
			break
		}
		c.remove(slotBucket, number(c.slots.low))
		c.slots.low++
		c.slots.all = c.slots.all[1:]
	}
	if len(c.slots.all) == 0 {
		c.slots.low = next.NextSlot
	}
}
