package logworld

import (
	"slices"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// disk is a node's store. What was not synced may be lost when its process ends: each step is there whole or not at all, and
// none without those before it.
type disk struct {
	*store.Memory // as the process sees it

	id       uint64
	safe     *store.Memory // what is synced
	unsynced []change
	flushing bool // with sync-first broken: it syncs when it likes
	damaged  bool // a bit is wrong: it shows when the store is opened
}

// change is something that was written and is not synced.
type change struct {
	do   func(*store.Memory) error
	lazy bool // nobody waits for it
}

var _ store.Store = (*disk)(nil)

func newDisk(id uint64, g txlog.Genesis) *disk {
	return &disk{id: id, Memory: store.NewMemory(id, g), safe: store.NewMemory(id, g)}
}

// does makes a change that lasts from the next sync on.
func (d *disk) does(c change) error {
	if err := c.do(d.Memory); err != nil {
		return err
	}
	d.unsynced = append(d.unsynced, c)
	return nil
}

// Write implements store.Store, without the sync.
func (d *disk) Write(step store.Step) error {
	return d.does(change{do: func(m *store.Memory) error { return m.Write(step) }, lazy: step.Lazy})
}

// Keep implements store.Store, without the sync.
func (d *disk) Keep(at txlog.Position, snapshot []byte, with store.Step) error {
	return d.does(change{do: func(m *store.Memory) error { return m.Keep(at, snapshot, with) }})
}

// Compact implements store.Store, without the sync.
func (d *disk) Compact(upto uint64) (more bool, err error) {
	return more, d.does(change{do: func(m *store.Memory) (err error) {
		more, err = m.Compact(upto)
		return err
	}})
}

// dirty reports whether something is not synced for which somebody waits.
func (d *disk) dirty() bool {
	return slices.ContainsFunc(d.unsynced, func(c change) bool { return !c.lazy })
}

func (d *disk) sync() { d.keeps(len(d.unsynced)) }

// keeps makes so many changes last.
func (d *disk) keeps(n int) {
	for _, c := range d.unsynced[:n] {
		_ = c.do(d.safe) // as before
	}
	d.unsynced = slices.Clone(d.unsynced[n:])
}

// crash takes away what was not synced; maybe some of it was written all the same. Without syncs a killed process leaves all
// of it to its host.
func (d *disk) crash(host, withSyncs bool, w *world.World) {
	switch {
	case host && w.Chance(0.8):
	case host || withSyncs:
		d.keeps(w.Pick(len(d.unsynced) + 1))
	default:
		d.sync()
	}
	d.flushing, d.unsynced, d.Memory = false, nil, d.safe.Clone()
}
