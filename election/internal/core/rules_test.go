package core_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// rules watch a machine from outside and report the promises that it breaks.
type rules struct {
	seats   map[string]core.SeatSettings // the latest settings
	bids    map[string]core.SeatSettings // the settings at the latest bid
	retired map[string]bool
	roll    map[string]bool // the scopes on the mint's roll
	longest time.Duration
	saying  core.Action // the request under way that changes the roll
	busy    string      // the request under way
	linked  bool        // a session is open
	terms   map[fence.Term]*life
	current map[string]*life // the latest term of each scope
	pulses  []mint.Pulse     // of the heartbeat under way
	stopped bool
	done    bool
}

// life is what the rules have seen of one term.
type life struct {
	seat                               core.SeatSettings
	opened, entered, shut, ended, late bool
	actFrom                            fence.Instant
	holdEnds                           fence.Instant // by then every predecessor's gate is shut, whatever the takeover
	deadline                           fence.Instant
	by                                 fence.Instant // when its time to end is up
	asked                              bool          // it ends on request, and heartbeats renew it meanwhile
	deposed                            bool
}

func newRules(set core.Settings) *rules {
	r := &rules{
		seats: map[string]core.SeatSettings{}, bids: map[string]core.SeatSettings{},
		retired: map[string]bool{}, roll: map[string]bool{}, terms: map[fence.Term]*life{}, current: map[string]*life{},
	}
	for _, s := range set.Seats {
		r.seats[s.Scope] = s
	}
	return r
}

// answers reports whether an input answers a request.
func answers(in core.Input) bool {
	switch in.(type) {
	case core.Opened, core.Tried, core.Beaten, core.Parted, core.Enlisted, core.Failed:
		return true
	}
	return false
}

// check takes one step of the machine and returns the broken promises.
func (r *rules) check(now fence.Instant, in core.Input, actions []core.Action) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if r.done && len(actions) > 0 {
		fault("%T after done", actions[0])
	}
	was := r.busy
	if answers(in) {
		r.busy = ""
	}
	switch in := in.(type) {
	case core.Opened:
		r.linked = true
		r.enrolls()
	case core.Enlisted:
		r.enrolls()
	case core.Add:
		r.seats[in.Seat.Scope], r.retired[in.Seat.Scope] = in.Seat, false
	case core.Retire:
		r.retired[in.Scope] = true
	case core.Beaten:
		for i, answer := range in.Answers {
			if l := r.terms[r.pulses[i].Token.Term]; l != nil && answer == mint.Over {
				l.deposed = true
			}
		}
	case core.Failed:
		r.linked = r.linked && !in.Lost && was != "connect"
		for _, l := range r.terms {
			l.asked = l.asked && !in.Lost
		}
	case core.Ended:
		if l := r.current[in.Scope]; l != nil && l.shut {
			l.ended = true
		}
	case core.Stop:
		r.stopped = true
	}
	for _, a := range actions {
		switch a := a.(type) {
		case core.Connect:
			r.request("connect", fault)
			r.saying = a
			if r.stopped {
				fault("connects after stop")
			}
		case core.Try:
			r.request("try", fault)
			r.tries(a, fault)
		case core.Beat:
			r.request("beat", fault)
			for _, p := range a.Pulses {
				l := r.terms[p.Token.Term]
				if l == nil || l.shut && (!l.asked || l.ended || l.deposed) || p.Settle && (!l.entered || now < l.holdEnds) {
					fault("a heartbeat renews %s with settle %v at the wrong time: %+v", name(p.Token), p.Settle, l)
				}
			}
			r.pulses = a.Pulses
		case core.Release:
			r.request("release", fault)
			for _, f := range a.Farewells {
				l := r.terms[f.Token.Term]
				if l != nil {
					l.asked = false
				}
				if l == nil || !l.shut {
					fault("releases %s before it is shut", name(f.Token))
				} else if f.Released && (!l.entered || !l.ended || l.deposed || now < l.holdEnds) {
					fault("promises that %s is released: %+v", name(f.Token), l)
				}
			}
		case core.Enlist:
			r.request("enlist", fault)
			r.saying = a
		case core.Forget:
			r.forgets(a.Scope, fault)
		case core.Open:
			r.opens(now, in, a, fault)
		case core.Enter:
			l := r.terms[a.Token.Term]
			if l == nil || l.shut || l.entered || now < l.actFrom || now >= l.deadline || l.late {
				fault("enters %s at the wrong time: %+v", name(a.Token), l)
			} else {
				l.entered = true
			}
		case core.Extend:
			r.extends(in, a, fault)
		case core.Prolong:
			r.prolongs(in, a, fault)
		case core.Hurry:
			if l := r.current[a.Scope]; l == nil || !l.shut || l.ended || !r.stopped || l.by != 0 && a.By >= l.by {
				fault("hurries %s, which has no later time to end: %+v", a.Scope, l)
			} else {
				l.by = a.By
			}
		case core.Suspend:
			if l := r.current[a.Scope]; l == nil || l.shut {
				fault("suspends %s, which is shut", a.Scope)
			} else {
				l.late = true
			}
		case core.Shut:
			if l := r.terms[a.Token.Term]; l == nil || l.shut {
				fault("shuts %s twice or unopened", name(a.Token))
			} else {
				l.shut, l.asked, l.by = true, a.By != 0, a.By
				l.deposed = l.deposed || errors.Is(a.Why, core.ErrDeposed)
			}
		case core.Disconnect:
			r.linked = false
			r.allShut("disconnects", fault)
		case core.Done:
			r.done = true
			r.allShut("done", fault)
			if r.busy != "" || r.linked { // a session that opens later would stay
				fault("done with a session (%t) or a request (%q) under way", r.linked, r.busy)
			}
		}
	}
	return errors.Join(faults...)
}

func (r *rules) request(what string, fault func(string, ...any)) {
	if r.busy != "" {
		fault("%s while %s is under way", what, r.busy)
	}
	if r.linked == (what == "connect") {
		fault("%s, with an open session: %v", what, r.linked)
	}
	r.busy = what
}

func (r *rules) allShut(what string, fault func(string, ...any)) {
	for scope, l := range r.current {
		if !l.shut {
			fault("%s while the gate of %s is open", what, scope)
		}
	}
}

func (r *rules) tries(a core.Try, fault func(string, ...any)) {
	if len(a.Bids) == 0 || r.stopped {
		fault("bids %v, stopped %v", a.Bids, r.stopped)
	}
	for _, b := range a.Bids {
		if l := r.current[b.Scope]; l != nil && !l.ended || r.seats[b.Scope].Never || r.retired[b.Scope] {
			fault("bids for %s, which it must not: %+v", b.Scope, l)
		}
		if !r.roll[b.Scope] || b.Lease > r.longest {
			fault("bids for %s with a lease of %s, but the roll has %v with %s", b.Scope, b.Lease, r.roll, r.longest)
		}
		if (b.Block > 0 || b.Evict) && len(a.Bids) > 1 {
			fault("blocks in a batch: %v", a.Bids)
		}
		if b.Lease != r.seats[b.Scope].Lease {
			fault("bids for %s with a lease of %s", b.Scope, b.Lease)
		}
		r.bids[b.Scope] = r.seats[b.Scope]
	}
}

// enrolls notes that the mint has changed the roll as asked.
func (r *rules) enrolls() {
	switch a := r.saying.(type) {
	case core.Connect:
		r.roll, r.longest = map[string]bool{}, a.Longest
		for _, scope := range a.Scopes {
			r.roll[scope] = true
		}
	case core.Enlist:
		r.longest = a.Roll.Longest
		for _, scope := range a.Roll.Add {
			r.roll[scope] = true
		}
		for _, scope := range a.Roll.Withdraw {
			delete(r.roll, scope)
		}
	}
}

// forgets checks that a scope is forgotten only if it is retired, off the roll and without a term.
func (r *rules) forgets(scope string, fault func(string, ...any)) {
	if l := r.current[scope]; !r.retired[scope] || r.linked && r.roll[scope] || l != nil && !l.ended {
		fault("forgets %s too early: on the roll %t, %+v", scope, r.roll[scope], l)
	}
	delete(r.seats, scope)
}

func (r *rules) opens(now fence.Instant, in core.Input, a core.Open, fault func(string, ...any)) {
	won, holdEnds := false, now
	tried, _ := in.(core.Tried)
	for _, res := range tried.Results {
		if res.Outcome == mint.Won && res.Token == a.Token {
			won, holdEnds = true, now.Add(res.Hold)
		}
	}
	if l := r.current[a.Token.Scope]; l != nil && !l.ended {
		fault("opens %s over a term that has not ended", name(a.Token))
	}
	if !won || r.terms[a.Token.Term] != nil {
		fault("opens %s, which it did not just win", name(a.Token))
	}
	s := r.bids[a.Token.Scope]
	if window := min(s.Lease-s.Margin, s.Late); a.Deadline > tried.Sent.Add(window) {
		fault("opens %s for more than its window after the send", name(a.Token))
	}
	l := &life{seat: s, opened: true, actFrom: a.ActFrom, holdEnds: holdEnds, deadline: a.Deadline}
	r.terms[a.Token.Term], r.current[a.Token.Scope] = l, l
}

// prolongs checks that only a heartbeat prolongs a term that is being given up, as it would a gate.
func (r *rules) prolongs(in core.Input, a core.Prolong, fault func(string, ...any)) {
	beaten, ok := in.(core.Beaten)
	l := r.current[a.Scope]
	if !ok || l == nil || !l.shut || l.deposed || l.ended {
		fault("prolongs %s without a reason", a.Scope)
		return
	}
	s := l.seat
	if window := min(s.Lease-s.Margin, s.Late); a.Deadline > beaten.Sent.Add(window) {
		fault("prolongs %s for more than its window after the send", a.Scope)
	}
}

func (r *rules) extends(in core.Input, a core.Extend, fault func(string, ...any)) {
	beaten, ok := in.(core.Beaten)
	l := r.current[a.Scope]
	if !ok || l == nil || l.shut {
		fault("extends %s without a reason", a.Scope)
		return
	}
	s := l.seat
	window := min(s.Lease-s.Margin, s.Late)
	if a.Deadline > max(l.deadline, beaten.Sent.Add(window)) {
		fault("extends %s for more than its window after the send", a.Scope)
	}
	for i, p := range r.pulses {
		if p.Token.Scope == a.Scope && beaten.Answers[i] != mint.Renewed {
			fault("extends %s, which was not renewed", a.Scope)
		}
	}
	l.deadline, l.late = a.Deadline, false
}
