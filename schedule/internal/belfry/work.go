package belfry

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world/site"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// post is a scope that a worker leads.
type post struct {
	scope string
	epoch int64
	desk  *desk // of that epoch; nil: there was none
}

// desk is a worker of a node under one post, in one epoch.
type desk struct {
	n       *node
	post    *post
	epoch   int64
	machine *worker.Machine
	until   time.Duration // its deadline by the node's clock, which the keepers of its commands have too
	kept    bool          // they look at it
	acts    bool          // its act door is open
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

// electPosts gives the posts of workers that are silent to others. A process that is killed, or whose session is cut, is known to be
// silent at once; one that is frozen when its lease is over.
func (r *run) electPosts() time.Duration {
	for _, p := range r.posts {
		if p.desk != nil && p.desk.works() && p.desk.n.Speaks() {
			continue
		}
		if n := r.Draw(func(n *site.Node) bool { return !n.Stands() }); n != nil {
			p.epoch++
			p.desk = &desk{n: r.nodes[n.Index], post: p, epoch: p.epoch, machine: worker.New(worker.Settings{Epoch: p.epoch, Slots: slots, Drain: 10 * time.Second})}
			p.desk.begin()
		}
	}
	return lease / 3
}

func (d *desk) works() bool { return slices.Contains(d.n.desks, d) }

// begin begins a term: the act door opens when the deadline of the one before has passed, whichever clock one asks.
func (d *desk) begin() {
	n := d.n
	n.desks = append(n.desks, d)
	d.alarm = n.NewAlarm(func() { d.step(worker.Tick{}) })
	d.extend()
	n.After(n.Clock.For(lease+lease/1000), func() {
		d.acts = true
		d.step(worker.Acts{})
	})
	n.After(lease/3, d.beat)
}

// beat renews the lease again and again, for as long as the post is its own.
func (d *desk) beat() {
	switch {
	case !d.works():
		return
	case !d.n.Reaches():
	case d.post.epoch != d.epoch:
		d.step(worker.Missed{Over: true})
	default:
		d.extend()
	}
	d.n.After(lease/3, d.beat)
}

func (d *desk) extend() {
	if d.until = d.n.Boot() + lease; !d.kept {
		d.kept = true
		d.keep()
	}
	d.step(worker.Extended{Until: d.until})
}

// keep is the keepers of its commands, who kill them when the deadline has passed, whatever has become of the worker.
func (d *desk) keep() {
	d.n.r.W.After(d.n.Until(d.until), func() {
		if d.kept = d.n.Boot() < d.until; d.kept {
			d.keep()
		} else if d.n.r.cfg.Break != ruleKeeper {
			d.endAll(true)
		}
	})
}

// step feeds the machine, and does what it asks for.
func (d *desk) step(in worker.Input) {
	if !d.works() {
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
		if d.post.epoch != d.epoch {
			return worker.Missed{Act: act, Over: true}
		}
		return r.tables.Take(d.post.scope, d.epoch, []string{""}, act, r.Clock())
	case worker.Look:
		return worker.Seen{Held: r.tables.Look(d.post.scope)}
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
	if !w.Fenced && n.Boot() >= d.until && r.cfg.Break != ruleKeeper {
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
