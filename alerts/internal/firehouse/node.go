package firehouse

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
	"github.com/conchhq/conch/alerts/internal/watch"
	"github.com/conchhq/conch/internal/world/site"
)

var errStale = errors.New("another one leads")

// node is one process.
type node struct {
	*site.Node
	r    *run
	file int // its configuration file

	epoch    int64      // that it leads, as it believes; 0: it does not
	core     *core.Core // since the door is open through which it acts
	deadline time.Duration
	busy     bool         // it records
	inbox    []core.Input // meanwhile
	alarm    *site.Alarm

	watch *watch.Machine
	bell  *site.Alarm
	rings time.Duration // it was looked at last
	seq   uint64

	reached time.Duration // it has reported, or begun
	listed  bool          // it has reported in this life
	cried   bool          // and not since it has told the pager that it cannot
	asleep  time.Duration // when it stood still last, as it has noticed
}

// stood reports whether it has stood still for long since an instant.
func (n *node) stood(since time.Duration) bool { return n.asleep >= since }

func (n *node) starts(again bool) {
	if again { // in a deployment that goes on and on, and back
		n.file = n.r.W.Pick(2)
	}
	n.listed = false
	n.seq, n.cried, n.reached, n.rings = 0, false, n.r.W.Now(), n.r.W.Now()
	n.watch = watch.New(watch.Config{
		Cluster: "c", Node: n.Name, Interval: interval, Delay: 30 * time.Second, Idle: 4 * lease, Rules: file(n.file), Receivers: receivers,
	})
	n.watches(watch.Tick{})
}

func (n *node) dies() {
	n.epoch, n.core, n.busy, n.inbox = 0, nil, false, nil
}

// lead begins a leadership. What it tells nothing refuses: so it waits until the one before must have ended.
func (n *node) lead() {
	n.r.Stats["leaders"]++
	n.epoch = n.r.Epoch
	n.Tells("leads, epoch %d", n.epoch)
	epoch := n.epoch
	n.renew(epoch)
	n.After(lease+lease/1000, func() {
		if n.epoch == epoch {
			n.core = core.New(core.Config{
				Cluster: "c", Node: n.Name, Interval: interval, Hold: lease, Hash: fmt.Sprint(n.file), Rules: file(n.file), Receivers: receivers,
			})
			n.feed(core.Tick{})
		}
	})
}

// renew renews the lease, for as long as nobody else leads.
func (n *node) renew(epoch int64) {
	if n.epoch != epoch {
		return
	}
	if n.Reaches() && n.r.Epoch == epoch {
		n.deadline = n.Boot() + lease
	}
	n.After(lease/5, func() { n.renew(epoch) })
}

// feed feeds the core, unless it waits for what it records.
func (n *node) feed(in core.Input) {
	switch {
	case n.core == nil:
	case n.busy:
		n.inbox = append(n.inbox, in)
	default:
		n.perform(n.core.Step(n.Boot(), in), n.Boot())
	}
}

// perform does what the core asks for: it records, and does the rest if that was done.
func (n *node) perform(out core.Out, decided time.Duration) {
	if out.Record == nil {
		n.rest(out, decided)
		n.alarm.Set(n.core.Due())
		return
	}
	of, epoch := n.core, n.epoch
	n.busy = true
	n.Ask(func() any { return n.r.record(epoch, *out.Record) }, func(answer any) {
		if n.core != of {
			return
		}
		n.busy = false
		switch answer {
		case nil:
			n.perform(n.core.Step(n.Boot(), core.Lost{}), n.Boot())
		case errStale:
			n.r.Stats["refused"]++
			n.Tells("leads no more: another one does")
			n.dies()
			return
		default:
			n.rest(out, decided)
			n.alarm.Set(n.core.Due())
		}
		waits := n.inbox
		n.inbox = nil
		for _, in := range waits {
			n.feed(in)
		}
	})
}

// rest does what comes after the record.
func (n *node) rest(out core.Out, decided time.Duration) {
	of := n.core
	n.r.springs(n, out.Sends)
	for _, fact := range out.Facts {
		n.r.hear(n, fact)
	}
	for i, m := range out.Sends {
		to := out.To[i]
		n.After(n.r.W.Between(0, 20*time.Millisecond), func() { // it may stand still in between
			answer := func(a core.Answer) {
				if n.core == of {
					n.feed(core.Answered{Receiver: to, Answer: a})
				}
			}
			if late := n.Boot()+core.Timeout >= n.deadline || n.Boot()-decided > core.Timeout; late && n.r.cfg.Break != ruleGate {
				answer(core.Failed)
				return
			}
			n.r.sends(n, to, m, answer)
		})
	}
	heard := func(failed core.Input) func(any) {
		return func(got any) {
			in, is := got.(core.Input)
			if !is {
				in = failed
			}
			if n.core == of {
				n.feed(in)
			}
		}
	}
	if out.Load {
		n.Ask(func() any { return n.r.load(n) }, heard(core.Lost{}))
	}
	if at := out.Evaluate; !at.IsZero() {
		n.Ask(func() any { return n.r.evaluate(n, at) }, heard(core.Unevaluated{}))
	}
}

func (n *node) tick() {
	if n.r.W.Now()-n.rings > time.Minute {
		n.asleep = n.r.W.Now()
	}
	n.watches(watch.Tick{})
}

// watches feeds the machine that watches, and does what it asks for.
func (n *node) watches(in watch.Input) {
	of := n.watch
	heard := func(failed watch.Input) func(any) {
		return func(got any) {
			in, is := got.(watch.Input)
			if !is {
				in = failed
			}
			if _, is := in.(watch.Reported); is {
				n.reached, n.listed = n.r.W.Now(), true
			}
			if n.watch == of {
				n.watches(in)
			}
		}
	}
	out := n.watch.Step(watch.Now{Boot: n.Boot(), Wall: n.Wall()}, in)
	if out.Report {
		n.seq++
		r := tables.Report{Node: core.Node{Name: n.Name, Life: fmt.Sprint(n.Life), Seq: n.seq, Cries: out.Cries, Hash: fmt.Sprint(n.file)}, Keep: keep}
		n.Ask(func() any {
			got := n.r.tables.Report(r, n.r.Clock())
			n.r.recovers(n, r.Cries)
			return watch.Reported{Evaluations: got.Evaluations, Nodes: got.Nodes}
		}, heard(watch.Unreported{}))
	}
	if out.Claims {
		n.Ask(func() any { return watch.Claimed{Mine: n.r.tables.Claim(n.Name, out.Claim, n.r.Clock())} }, heard(watch.Claimed{}))
	}
	for i, m := range out.Sends {
		n.r.cries(n, out.To[i], m, func(a core.Answer) {
			if n.watch == of {
				n.watches(watch.Answered{Receiver: out.To[i], Answer: a})
			}
		})
	}
	n.rings = n.r.W.Now()
	n.bell.Set(n.watch.Due(), true)
}
