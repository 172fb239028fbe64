package belfry

import (
	"errors"

	"github.com/conchhq/conch/internal/world/site"
	"github.com/conchhq/conch/schedule/internal/core"
)

var (
	errStale  = errors.New("another one leads")
	errSilent = errors.New("no answer")
)

// node is one process.
type node struct {
	*site.Node
	r     *run
	core  *core.Core // while it believes that it leads
	epoch int64
	alarm *site.Alarm
	desks []*desk // where it works
	file  int     // the version of its configuration file
}

// starts has the process declare the crons of its file.
func (n *node) starts(again bool) {
	if again { // in a deployment that goes on and on, and back
		n.file = n.r.W.Pick(len(files))
	}
	if !n.r.Away && !n.r.cfg.Telling.On() {
		now := n.r.Clock()
		n.r.tables.Declare(core.File{Version: int64(n.file), Started: now, Crons: files[n.file]}, now)
		n.r.declared = max(n.r.declared, n.file)
	}
}

// dies ends the commands with the process.
func (n *node) dies() {
	n.core = nil
	for _, d := range n.desks {
		d.endAll(false)
	}
	n.desks = nil
}

func (n *node) lead() {
	n.r.Stats["leaders"]++
	n.Tells("leads, epoch %d", n.r.Epoch)
	n.core, n.epoch = core.New(keep), n.r.Epoch
	n.step(core.Tick{})
}

// step feeds the core, and does what it asks for.
func (n *node) step(in core.Input) {
	if n.core == nil {
		return
	}
	if f, is := in.(core.Failed); is && errors.Is(f.Why, errStale) {
		n.r.Stats["refused"]++
		n.Tells("leads no more: another one does")
		n.core = nil
		return
	}
	for _, act := range n.core.Step(core.Now{Boot: n.Boot(), Wall: n.Wall()}, in) {
		if fact, is := act.(core.Tell); is {
			n.r.hear(n, fact.Fact)
			continue
		}
		of, epoch := n.core, n.epoch
		n.Ask(func() any { return n.r.take(n, epoch, act) }, func(in any) {
			input, is := in.(core.Input)
			if !is {
				input = core.Failed{Why: errSilent}
			}
			if n.core == of {
				n.step(input)
			}
		})
	}
	n.alarm.Set(n.core.Due())
}

// outdated is what a node reads whose rules of zones are old: they know nothing of summer.
func (n *node) outdated(l core.Loaded) core.Loaded {
	for i := range l.Crons {
		for j := range l.Crons[i].Revisions {
			if zone := &l.Crons[i].Revisions[j].Timezone; n.r.old && n.Index == 0 && *zone == berlin {
				*zone = "Etc/GMT-1"
			}
		}
	}
	return l
}
