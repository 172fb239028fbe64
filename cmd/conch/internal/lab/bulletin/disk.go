package bulletin

import (
	"slices"

	"github.com/conchhq/conch/internal/sim/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/quorum"
)

// disk is a node's store. What was not synced is lost when the host dies.
type disk struct {
	id        uint64
	genesis   txlog.Genesis
	now, safe files
	flushing  bool // with sync-first broken: it syncs when it likes
	damaged   bool // a bit is wrong: it shows when the store is opened
}

// files is what is on a disk.
type files struct {
	quorum.Stored

	first   uint64         // the index of the first record
	records []txlog.Record // committed, consecutive
	heads   []txlog.Head   // by index
	bridges []follower.Bridge
	snaps   []snap // the older first
}

// snap is a snapshot that is kept.
type snap struct {
	bytes []byte
	offer follower.Offer
}

func newDisk(id uint64, g txlog.Genesis) *disk {
	f := files{Stored: quorum.Fresh(g), first: 1}
	return &disk{id: id, genesis: g, now: f, safe: f}
}

// crash takes away what was not synced, if the host has died; maybe it was written all the same.
func (d *disk) crash(host bool, w *world.World) {
	d.flushing = false
	if host && w.Chance(0.8) {
		d.now = d.safe
	} else {
		d.safe = d.now
	}
}

func (d *disk) sync() { d.safe = d.now }

// last is the index of the last record.
func (f *files) last() uint64 { return f.first + uint64(len(f.records)) - 1 }

// add keeps committed records, and those only that are not there.
func (f *files) add(records []txlog.Record) {
	for _, record := range records {
		if record.Index == f.last()+1 {
			f.records = append(slices.Clip(f.records), record)
		}
	}
}

// head keeps a head. Of one index the first stays.
func (f *files) head(h txlog.Head) {
	if n := len(f.heads); h.Index > 0 && (n == 0 || f.heads[n-1].Index < h.Index) {
		f.heads = append(slices.Clip(f.heads), h)
	}
}

// keeps takes a snapshot, and drops what is before the one before it.
func (f *files) keeps(s snap) {
	if n := len(f.snaps); n > 0 && f.snaps[n-1].offer.Head.Index >= s.offer.Head.Index {
		return
	}
	f.snaps = append(slices.Clone(f.snaps), s)
	if len(f.snaps) > 2 {
		f.snaps = f.snaps[len(f.snaps)-2:]
		f.drop(f.snaps[0].offer.Head.Index + 1)
	}
}

// drop drops the records below an index.
func (f *files) drop(first uint64) {
	if first <= f.first {
		return
	}
	f.records = slices.Clone(f.records[min(first-f.first, uint64(len(f.records))):])
	f.first = first
	f.heads = slices.DeleteFunc(slices.Clone(f.heads), func(h txlog.Head) bool { return h.Index < first })
}

// adopts replaces everything by a snapshot.
func (f *files) adopts(s snap) {
	f.first, f.records, f.heads, f.snaps = s.offer.Head.Index+1, nil, nil, []snap{s}
	f.head(s.offer.Head)
}

// load makes the copy of what is committed, as the store has it, and the records after it.
func (d *disk) load(state func() txlog.State) (base *txlog.Copy, tail []txlog.Record, err error) {
	f := &d.now
	base = txlog.NewCopy(d.genesis, state)
	if n := len(f.snaps); n > 0 {
		if base, err = txlog.Restore(f.snaps[n-1].bytes, state); err != nil {
			return nil, nil, err
		}
	}
	for _, record := range f.records {
		if record.Index > base.Position().Index {
			if err := base.Apply(record); err != nil {
				return nil, nil, err
			}
		}
	}
	all, err := f.Tail()
	if err != nil {
		return nil, nil, err
	}
	for _, record := range all {
		if record.Index > base.Position().Index {
			tail = append(tail, record)
		}
	}
	return base, tail, nil
}
