package logworld

import (
	"fmt"
	"math"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// process is what a node has in memory: the core, and what its loop needs.
type process struct {
	core *core.Core
	rumours

	memories []*memory // the states of its copies
	waiting  map[uint64]func(txlog.Answer, error)
	ticket   uint64
	goals    map[string]string // the ids of those that others have sent, by node and try
	met      bool              // the core was told of its neighbours
	rounds   int
	act      majority.Door
	after    map[uint64]txlog.Position // where the log is after each of the authority's entries

	term    uint64 // the newest one that is known
	leads   bool
	follows string // who leads
}

const (
	snapshotEvery = 150 // entries
	snapshotAfter = 100 // entries behind
	keepEntries   = 60
)

// begin makes the core from what the disk has.
func (n *node) begin() core.Input {
	if n.disk.damaged {
		n.r.tell(n, "finds its store damaged")
		n.newStore()
	}
	n.process = &process{waiting: map[uint64]func(txlog.Answer, error){}, goals: map[string]string{}, after: map[uint64]txlog.Position{}}
	if n.makes(); n.process != nil && n.r.decides(n) {
		records, err := n.disk.Records(n.disk.View().Floor.Index+1, math.MaxInt)
		if err == nil {
			n.r.commits(n, records)
		}
	}
	return nil
}

// makes makes the core, or another one from what the disk has now.
func (n *node) makes() {
	n.memories, n.met, n.act, n.leads, n.follows = nil, false, majority.Door{}, false, ""
	has, err := core.Load(n.disk, n.state)
	if err == nil {
		n.core, err = core.New(core.Settings{
			Self: n.name, Key: n.key, New: n.state, Seed: n.r.w.Draw(), SnapshotEvery: snapshotEvery, SnapshotAfter: snapshotAfter, Keep: keepEntries,
		}, has)
	}
	if err != nil {
		n.fails(err)
	}
}

// idle is after how many rounds what is written lazily is on the disk.
const idle = 10

// tick lets a round pass.
func (n *node) tick() core.Input {
	if n.process == nil {
		return nil
	}
	if n.rounds++; n.rounds%idle == 0 && !n.r.broken(syncFirst) {
		n.disk.sync()
	}
	tick := core.Tick{At: int64(n.now() / 1e6)}
	if n.met {
		return tick
	}
	n.met = true
	return core.Batch{core.Peers{Names: names(n.neighbours())}, tick}
}

// feed has the core take an input, and has stored what it says.
func (n *node) feed(in core.Input) {
	out := n.core.Step(n.now(), in)
	if n.proposes(out) && !n.passes(executed) {
		return
	}
	for _, g := range out.Gives {
		n.performs(g)
	}
	for _, w := range out.Writes {
		if err := w.To(n.disk); err != nil {
			n.fails(err)
			return
		}
	}
	switch {
	case !n.disk.dirty() || len(out.Writes) == 0:
		n.carriesOut(out)
	case n.r.broken(syncFirst):
		n.flushes()
		n.carriesOut(out)
	default:
		n.syncs(out)
	}
}

// proposes reports whether this node, which leads, stores an execution of its own.
func (n *node) proposes(out core.Output) bool {
	for _, w := range out.Writes {
		if w.Persist == nil || !n.leads {
			continue
		}
		for _, e := range w.Persist.Entries {
			if record, has, err := e.Record(); err == nil && has && record.Kind == txlog.Executed && record.Leader == n.name {
				return true
			}
		}
	}
	return false
}

// syncs goes on once the disk has what was written. Meanwhile the loop does nothing.
func (n *node) syncs(out core.Output) {
	n.waits = true
	life, own := n.life, n.proposes(out)
	n.r.w.After(n.r.syncTakes(), func() {
		if n.life != life {
			return
		}
		n.disk.sync()
		n.waits = false
		n.then = func() {
			if !own || n.passes(stored) {
				n.carriesOut(out)
			}
		}
		n.loop()
	})
}

// flushes syncs some time later.
func (n *node) flushes() {
	disk, life := n.disk, n.life
	if disk.flushing {
		return
	}
	disk.flushing = true
	n.r.w.After(n.r.w.Between(10*round, 40*round), func() {
		if n.life == life && n.disk == disk {
			disk.flushing = false
			disk.sync()
		}
	})
}

// carriesOut does what the core has said, and goes on.
func (n *node) carriesOut(out core.Output) {
	life := n.life
	for _, w := range out.Writes {
		n.sees(w)
	}
	if n.commits(out) && !n.passes(committed) {
		return
	}
	for _, a := range out.Acts {
		if n.performs(a); n.life != life {
			return
		}
	}
	switch {
	case len(out.Writes) > 0:
		n.feed(core.Written{})
	case out.Load:
		has, err := core.Load(n.disk, n.state)
		if err != nil {
			n.fails(err)
			return
		}
		n.feed(core.Loaded{Has: has})
	}
}

// commits reports whether this node, which leads, knows more executions to be committed.
func (n *node) commits(out core.Output) bool {
	for _, a := range out.Acts {
		tell, is := a.(core.Tell)
		if !is || !n.leads {
			continue
		}
		if applied, is := tell.Event.(core.Applied); is {
			for _, record := range applied.Records {
				if record.Kind == txlog.Executed {
					return true
				}
			}
		}
	}
	return false
}

// anew makes another core, as a process does that goes on.
func (n *node) anew(why error) {
	n.r.tell(n, "begins anew with what its disk has: %v", why)
	n.r.Stats["anew"]++
	n.flipped = false
	waiting := n.waiting
	n.waiting = map[uint64]func(txlog.Answer, error){}
	n.makes()
	for _, ticket := range sorted(waiting) {
		waiting[ticket](txlog.Answer{}, fmt.Errorf("this node has made its copies anew: %w", txlog.ErrUnknown))
	}
}

// syncTakes is how long a disk takes: mostly a millisecond, sometimes much longer.
func (r *run) syncTakes() time.Duration {
	if !r.quiet && r.w.Chance(0.003) {
		return r.w.Between(round/2, 4*round)
	}
	return r.w.Between(300*time.Microsecond, 3*time.Millisecond)
}
