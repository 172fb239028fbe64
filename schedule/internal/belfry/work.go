package belfry

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world/site"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// desk is a worker of a node in its term of a post.
type desk struct {
	*site.Term
	n       *node
	machine *worker.Machine
	alarm   *site.Alarm
}

// work is a handler that runs: a command under a keeper, or a function whose effect the database refuses if its attempt is over.
type work struct {
	tables.Job
	desk *desk
	ends bool
}

const (
	slots  = 3
	poison = "poison" // what a job is told that kills its worker
)

// sits has a node work at a post. Its keepers kill its commands when the deadline has passed, whatever has become of the worker.
func (r *run) sits(t *site.Term) site.Tenant {
	d := &desk{Term: t, n: r.nodes[t.Index], machine: worker.New(worker.Settings{Epoch: t.Epoch, Slots: slots, Drain: 10 * time.Second})}
	d.alarm = t.NewAlarm(func() { d.step(worker.Tick{}) })
	d.n.desks = append(d.n.desks, d)
	return site.Tenant{
		Extended: func() { d.step(worker.Extended{Until: d.Deadline}) }, Opened: func() { d.step(worker.Acts{}) },
		Lost: func() { d.step(worker.Missed{Over: true}) },
		Passed: func() {
			if r.cfg.Break != ruleKeeper {
				d.endAll(true)
			}
		},
	}
}

// step feeds the machine, and does what it asks for.
func (d *desk) step(in worker.Input) {
	if !d.Lasts() {
		return
	}
	for _, act := range d.machine.Step(d.n.Boot(), in) {
		switch act := act.(type) {
		case worker.Start:
			d.start(act.Job)
		case worker.Stop:
			d.end(func(w *work) bool { return w.Key == act.Key })
		default:
			d.n.Ask(func() any { return d.n.r.serve(d, act) }, func(out any) {
				input, is := out.(worker.Input)
				if !is {
					input = worker.Missed{Act: act}
				}
				d.step(input)
			})
		}
	}
	if d.machine.Over() {
		d.End()
		d.n.desks = slices.DeleteFunc(d.n.desks, func(o *desk) bool { return o == d })
		return
	}
	d.alarm.Set(d.machine.Due())
}

// wake tells the workers of jobs that have begun.
func (r *run) wake() {
	since, is := r.tables.Told()
	if !is {
		return
	}
	for _, n := range r.nodes {
		for _, d := range n.desks {
			if n.Hears() {
				n.After(10*time.Millisecond, func() { d.step(worker.Woken{Since: since}) })
			}
		}
	}
}

// serve has the database carry a statement of a worker out.
func (r *run) serve(d *desk, act worker.Act) any {
	switch act := act.(type) {
	case worker.Take:
		if !d.IsNewest() {
			return worker.Missed{Act: act, Over: true}
		}
		return r.tables.Take(d.Scope, d.Epoch, []string{""}, act, r.Clock())
	case worker.Look:
		return worker.Seen{Held: r.tables.Look(d.Scope)}
	case worker.Tell:
		return r.ended(d, act.Ends)
	}
	return nil
}

// start begins the handler of a job.
func (d *desk) start(j worker.Job) {
	n, r := d.n, d.n.r
	w := &work{Job: r.tables.Job(j.ID), desk: d}
	w.Job.Job = j
	if !w.Fenced && n.Boot() >= d.Deadline && r.cfg.Break != ruleKeeper {
		r.end(w, worker.Failed) // its keeper does not let it begin
		return
	}
	r.begun(w)
	r.works = append(r.works, w)
	takes, outcome := r.W.Between(0, 20*time.Second), worker.Done
	if r.W.Chance(0.1) {
		outcome = worker.Failed
	}
	life := n.Life
	r.W.After(takes, func() {
		switch {
		case w.ends || n.Life != life:
		case string(j.Args) == poison:
			n.Die()
			r.W.After(time.Second, func() {
				if !n.Runs() {
					n.Start()
				}
			})
		case w.Fenced:
			n.After(1, func() { r.effect(w) })
		default:
			r.end(w, outcome)
		}
	})
}

// endAll ends the handlers that run, or its commands alone.
func (d *desk) endAll(commands bool) { d.end(func(w *work) bool { return !commands || !w.Fenced }) }

func (d *desk) end(is func(*work) bool) {
	for _, w := range slices.Clone(d.n.r.works) {
		if w.desk == d && is(w) {
			d.n.r.end(w, worker.Failed)
		}
	}
}

// end ends a handler. Its worker hears of it as soon as it is not frozen.
func (r *run) end(w *work, outcome string) {
	w.ends = true
	r.works = slices.DeleteFunc(r.works, func(o *work) bool { return o == w })
	w.desk.n.After(1, func() { w.desk.step(worker.Ended{End: worker.End{Key: w.Key, Outcome: outcome}}) })
}

// effect has a function end its job in the transaction of its effect. One that stood still with its process has it before it sees that it was stopped.
func (r *run) effect(w *work) {
	outcome := worker.Failed
	if n := w.desk.n; n.Reaches() {
		how := "refused"
		if told := r.tables.Tell([]worker.End{{Key: w.Key, Outcome: worker.Done}}, r.Clock()); len(told.Over) == 0 || r.cfg.Break == ruleProof {
			r.effects[w.ID]++
			outcome, how = worker.Done, "had"
		}
		r.tellOf(n, w.ID, "ends attempt %d of job %d with its effect, which is %s", w.Attempt, w.ID, how)
	}
	if !w.ends {
		r.end(w, outcome)
	}
}
