package belfry

import (
	"slices"
	"time"

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
	until   int64 // its deadline by the node's clock, which the keepers of its commands have too
	kept    bool  // they look at it
	alarm   int
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
		if d := p.desk; d != nil && slices.Contains(d.n.desks, d) && d.n.speaks() {
			continue
		}
		var able []*node
		for _, n := range r.nodes {
			if n.speaks() && !n.frozen {
				able = append(able, n)
			}
		}
		if len(able) > 0 {
			p.epoch++
			p.desk = &desk{n: able[r.w.Pick(len(able))], post: p, epoch: p.epoch, machine: worker.New(worker.Settings{Epoch: p.epoch, Slots: slots, Drain: 10 * time.Second})}
			p.desk.begin()
		}
	}
	return lease / 3
}

// begin begins a term: the act door opens when the deadline of the one before has passed, whichever clock one asks.
func (d *desk) begin() {
	n := d.n
	n.desks = append(n.desks, d)
	d.extend()
	n.after(n.clock.For(lease+lease/1000), func() { d.step(worker.Acts{}) })
	n.after(lease/3, d.beat)
}

// beat renews the lease again and again, for as long as the post is its own.
func (d *desk) beat() {
	switch r := d.n.r; {
	case !slices.Contains(d.n.desks, d):
		return
	case r.away || r.cut[d.n.name]:
	case d.post.epoch != d.epoch:
		d.step(worker.Missed{Over: true})
	default:
		d.extend()
	}
	d.n.after(lease/3, d.beat)
}

func (d *desk) extend() {
	if d.until = d.n.clock.Read() + int64(lease); !d.kept {
		d.kept = true
		d.keep()
	}
	d.step(worker.Extended{Until: time.Duration(d.until)})
}

// keep is the keepers of its commands, who kill them when the deadline has passed, whatever has become of the worker.
func (d *desk) keep() {
	d.n.r.w.After(d.n.clock.When(d.until)-d.n.r.w.Now(), func() {
		if d.kept = d.n.clock.Read() < d.until; d.kept {
			d.keep()
		} else if d.n.r.cfg.Break != ruleKeeper {
			d.endAll(true)
		}
	})
}

// step feeds the machine, and does what it asks for.
func (d *desk) step(in worker.Input) {
	if !slices.Contains(d.n.desks, d) {
		return
	}
	for _, act := range d.machine.Step(time.Duration(d.n.clock.Read()), in) {
		switch act := act.(type) {
		case worker.Start:
			d.start(act.Job)
		case worker.Stop:
			for _, w := range slices.Clone(d.n.r.works) {
				if w.desk == d && w.Key == act.Key {
					d.n.r.end(w, worker.Failed)
				}
			}
		default:
			d.n.ask(func() any { return d.n.r.serve(d, act) }, func(out any) {
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
	d.alarm++
	alarm := d.alarm
	if due, is := d.machine.Due(); is {
		d.n.after(d.n.clock.When(int64(due))-d.n.r.w.Now(), func() {
			if d.alarm == alarm {
				d.step(worker.Tick{})
			}
		})
	}
}

// wake tells the workers that there may be jobs.
func (r *run) wake() {
	for _, n := range r.nodes {
		for _, d := range n.desks {
			if !r.cut[n.name] {
				n.after(10*time.Millisecond, func() { d.step(worker.Woken{}) })
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
		return r.tables.Take(d.post.scope, d.epoch, []string{""}, act, r.now())
	case worker.Look:
		return worker.Seen{Held: r.tables.Look(d.post.scope)}
	case worker.Tell:
		return r.ended(d, act.Ends)
	}
	return nil
}

// start begins the handler of a job.
func (d *desk) start(j worker.Job) {
	r := d.n.r
	w := &work{Job: r.tables.Job(j.ID), desk: d}
	w.Job.Job = j
	if !w.Fenced && d.n.clock.Read() >= d.until && r.cfg.Break != ruleKeeper {
		r.end(w, worker.Failed) // its keeper does not let it begin
		return
	}
	r.begun(w)
	r.works = append(r.works, w)
	takes, outcome := r.w.Between(0, 20*time.Second), worker.Done
	if r.w.Chance(0.1) {
		outcome = worker.Failed
	}
	life := d.n.life
	r.w.After(takes, func() {
		switch {
		case w.ends || d.n.life != life:
		case string(j.Args) == poison:
			d.n.kill()
			r.w.After(time.Second, func() {
				if !d.n.up {
					d.n.start()
				}
			})
		case w.Fenced:
			d.n.after(1, func() { r.effect(w) })
		default:
			r.end(w, outcome)
		}
	})
}

// endAll ends the handlers that run, or its commands alone.
func (d *desk) endAll(commands bool) {
	for _, w := range slices.Clone(d.n.r.works) {
		if w.desk == d && (!commands || !w.Fenced) {
			d.n.r.end(w, worker.Failed)
		}
	}
}

// end ends a handler. Its worker hears of it as soon as it is not frozen.
func (r *run) end(w *work, outcome string) {
	w.ends = true
	r.works = slices.DeleteFunc(r.works, func(o *work) bool { return o == w })
	w.desk.n.after(1, func() { w.desk.step(worker.Ended{End: worker.End{Key: w.Key, Outcome: outcome}}) })
}

// effect has a function end its job in the transaction of its effect.
func (r *run) effect(w *work) {
	if w.ends {
		return
	}
	outcome := worker.Failed
	if n := w.desk.n; !r.away && !r.cut[n.name] {
		if told := r.tables.Tell([]worker.End{{Key: w.Key, Outcome: worker.Done}}, r.now()); len(told.Over) == 0 {
			r.effects[w.ID]++
			outcome = worker.Done
		}
		if w.Cron == "" {
			r.tell(n, "ends attempt %d of job %d with its effect, which is %s", w.Attempt, w.ID, map[string]string{worker.Done: "had", worker.Failed: "refused"}[outcome])
		}
	}
	r.end(w, outcome)
}
