package belfry

import (
	"errors"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/schedule/internal/core"
)

var errStale = errors.New("another one leads")

// node is one process.
type node struct {
	r          *run
	name       string
	clock      *world.Clock
	up, frozen bool
	froze      time.Duration // when it did
	life       int
	core       *core.Core // while it believes that it leads
	epoch      int64
	alarm      int
	waits      []func()      // what comes while it is frozen
	desks      []*desk       // where it works
	wrong      time.Duration // its wall clock
	file       int           // the version of its configuration file
	old        bool          // its rules of zones are
}

// speaks reports whether the process would renew its lease.
func (n *node) speaks() bool {
	return n.up && (!n.frozen || n.r.w.Now()-n.froze < lease) && !n.r.away && !n.r.cut[n.name]
}

// start starts the process, which declares the crons of its file.
func (n *node) start() {
	n.up, n.frozen, n.waits = true, false, nil
	n.life++
	if !n.r.away && !n.r.cfg.Telling.On() {
		now := n.r.now()
		n.r.tables.Declare(core.File{Version: int64(n.file), Started: now, Crons: files[n.file]}, now)
		n.r.declared = max(n.r.declared, n.file)
	}
}

// kill ends the process, and the commands with it.
func (n *node) kill() {
	n.up, n.core, n.life = false, nil, n.life+1
	for _, d := range n.desks {
		d.endAll(false)
	}
	n.desks = nil
}

func (n *node) lead(epoch int64) {
	n.r.Stats["leaders"]++
	n.r.tell(n, "leads, epoch %d", epoch)
	n.core, n.epoch = core.New(keep), epoch
	n.step(core.Tick{})
}

// after does something in this life of the process, as soon as it is not frozen.
func (n *node) after(d time.Duration, do func()) {
	life := n.life
	n.r.w.After(d, func() {
		switch {
		case n.life != life:
		case n.frozen:
			n.waits = append(n.waits, do)
		default:
			do()
		}
	})
}

func (n *node) thaw() {
	waits := n.waits
	n.frozen, n.waits = false, nil
	for _, do := range waits {
		do()
	}
}

// step feeds the core, and does what it asks for.
func (n *node) step(in core.Input) {
	if n.core == nil {
		return
	}
	if f, is := in.(core.Failed); is && errors.Is(f.Why, errStale) {
		n.r.Stats["refused"]++
		n.core = nil
		return
	}
	acts := n.core.Step(core.Now{Boot: time.Duration(n.clock.Read()), Wall: begins.Add(n.r.w.Now() + n.wrong)}, in)
	for _, act := range acts {
		if fact, is := act.(core.Tell); is {
			n.r.hear(n, fact.Fact)
			continue
		}
		of, epoch := n.core, n.epoch
		n.ask(func() any { return n.r.take(n, epoch, act) }, func(in any) {
			input, is := in.(core.Input)
			if !is {
				input = core.Failed{Why: errors.New("no answer")}
			}
			if n.core == of {
				n.step(input)
			}
		})
	}
	n.alarm++
	alarm := n.alarm
	if due, is := n.core.Due(); is {
		n.after(n.clock.When(int64(due))-n.r.w.Now(), func() {
			if n.alarm == alarm {
				n.step(core.Tick{})
			}
		})
	}
}

// ask sends a statement to the database, and hears its answer, or nil. The process may be frozen before either.
func (n *node) ask(carry func() any, answer func(any)) {
	w := n.r.w
	n.after(w.Between(0, 20*time.Millisecond), func() {
		arrives := n.r.calm || !w.Chance(0.01)
		w.After(w.Between(0, 20*time.Millisecond), func() {
			var out any
			if arrives && !n.r.away && !n.r.cut[n.name] {
				out = carry()
			}
			if out == nil || !n.r.calm && w.Chance(0.01) {
				n.after(10*time.Second, func() { answer(nil) })
				return
			}
			n.after(w.Between(0, 20*time.Millisecond), func() { answer(out) })
		})
	})
}

// outdated is what a node reads whose rules of zones are old: they know nothing of summer.
func (n *node) outdated(l core.Loaded) core.Loaded {
	for i := range l.Crons {
		for j := range l.Crons[i].Revisions {
			if zone := &l.Crons[i].Revisions[j].Timezone; n.old && *zone == berlin {
				*zone = "Etc/GMT-1"
			}
		}
	}
	return l
}
