package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Step is one of several things that a fault does, with its own bound.
type Step struct {
	What   string
	Scopes []string      // whose leaders it hits; none: the machines'
	At     fence.Instant // read before the step
	Until  fence.Instant // read when the wait for its end was over
	Bound  bound
}

// Gated records the acts of the HTTP gates' callers about one scope.
type Gated struct {
	Scope       string
	From, Until fence.Instant // in between there must be a leader; 0: nobody looked
	Acts        []evidence.Act
}

// bound is how long a scope may be without a leader, in leases, at either door.
type bound struct{ fenced, act float64 }

// The bounds are the promises L1 to L8 of docs/guarantees.md plus one lease: the server decides
// when a lease is over, and its timers and retries add to it.
var (
	crash  = bound{2, 3} // L1: its connection ends. L2: one lease later at the act door
	silent = bound{2, 3} // L3: after a lease, and after two
	clean  = bound{0, 0} // L4
	stuck  = bound{2, 3} // L5: a held fence is ended after a lease
	late   = bound{4, 5} // L8: two leases, and one more if the farewell fails
)

// bounds has the bound of each kind. Time during a fault counts too, unless nobody can lead then.
var bounds = map[Kind]bound{
	Kill9: crash, Backend: crash, LogUnread: crash, Reset: crash,
	PGRestart: crash, PGKill: crash, LocksFull: crash, TableLock: crash, Unannounced: crash, NotifyFull: crash, ClockAhead: crash, ClockBack: crash,
	StopShort: silent, StopLong: silent, Silent: silent, SilentToServer: silent, SilentToClient: silent, Deaf: silent, SilentAddress: silent,
	Latency: late, FrozenFence: stuck, BusyFence: stuck,
	Rolling: crash, // a node that ends in order takes time to come back
	// The other kinds have several steps, each with its own bound: [Injection.Steps].
}

// spare is what a busy machine may add to each bound, and the whole bound of a clean handover.
const spare = time.Second

// workload is a series of signs that somebody led a scope.
type workload struct {
	what, scope string
	act         bool // behind the act door
	signs       []span
}

// span is a time in which somebody is known to have led.
type span struct{ from, to fence.Instant }

// workloads returns all workloads that were watched.
func (e Evidence) workloads() []workload {
	spans := func(acts []evidence.Act) (s []span) {
		for _, a := range acts {
			s = append(s, span{a.Start, a.End})
		}
		return s
	}
	rows := workload{what: "rows under the fence", scope: Scope}
	for _, a := range e.Record.Acks {
		rows.signs = append(rows.signs, span{a.At, a.At})
	}
	all := []workload{
		rows,
		{"acts behind the act door", Scope, true, spans(e.Record.Outside)},
		{"children of conch run", RunScope, true, spans(e.Children)},
	}
	for i := range all {
		if e.Ended != 0 && len(all[i].signs) > 0 {
			all[i].signs = append(all[i].signs, span{e.Ended, e.Ended})
		}
	}
	for _, g := range e.Gated {
		if g.From == 0 {
			continue
		}
		all = append(all, workload{"a yes of the HTTP gate", g.Scope, true, append(spans(g.Acts), span{g.From, g.From}, span{g.Until, g.Until})})
	}
	return all
}

// unled looks for scopes without a leader for longer than current or recent faults explain.
func (e Evidence) unled(say sayer) {
	causes := e.causes()
	for _, p := range e.workloads() {
		if len(p.signs) == 0 {
			continue
		}
		slices.SortFunc(p.signs, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		last := p.signs[0].to
		for _, s := range p.signs[1:] {
			if s.from > last {
				e.vacant(p, span{last, s.from}, causes, say)
			}
			last = max(last, s.to)
		}
	}
}

// cause is a step, or a fault of one step, that explains a time without a leader.
type cause struct {
	Step
	outage span // nobody could lead then
}

// causes returns all causes.
func (e Evidence) causes() (all []cause) {
	for i, in := range e.Injections {
		for _, b := range in.Steps {
			all = append(all, cause{Step: b})
		}
		bound, plain := bounds[in.Fault.Kind]
		if !plain {
			continue
		}
		on := span{in.At, max(in.At, in.Done, in.Over)}
		s := cause{Step: Step{What: string(in.Fault.Kind), At: on.from, Until: on.to.Add(spare), Bound: bound}} // its effect may last a moment longer
		// Of two faults at once, the second may hit the successor.
		if in.Fault.Joined || i+1 < len(e.Injections) && e.Injections[i+1].Fault.Joined || e.outage(in) {
			s.outage = on
		}
		all = append(all, s)
	}
	return all
}

// outage reports whether no machine can lead while a fault is on. Under keep only the end of a
// connection frees a scope.
func (e Evidence) outage(in Injection) bool {
	t, _ := traitOf(in.Fault.Kind)
	switch in.Fault.Kind {
	case PGRestart, PGKill, LocksFull, TableLock:
		return true
	case SilentAddress: // the other address works
		return e.Takeover == mint.Keep
	default:
		return e.Takeover == mint.Keep || t.place == line && len(in.Nodes) >= e.Machines
	}
}

// vacant judges one time without a leader.
func (e Evidence) vacant(p workload, empty span, causes []cause, say sayer) {
	length := empty.to.Sub(empty.from)
	allowed, begun, why := spare, empty.from, []string{}
	for _, s := range causes {
		if !s.hits(p.scope) || s.At > empty.to || s.Until < empty.from {
			continue
		}
		bound := s.Bound.fenced
		if p.act {
			bound = s.Bound.act
		}
		allowed += time.Duration(bound * float64(e.Lease))
		allowed += max(min(s.outage.to, empty.to).Sub(max(s.outage.from, empty.from)), 0)
		begun = s.At
		why = append(why, s.What)
	}
	if len(why) == 0 { // a busy machine may cost the leadership
		allowed += time.Duration(crash.act * float64(e.Lease))
		why = append(why, "nothing")
	}
	if length <= allowed {
		return
	}
	after := func(at fence.Instant) string { return fmt.Sprintf("%+.3f s", at.Sub(begun).Seconds()) }
	say(Led, max(empty.from, begun), "%s: nobody led %q for %s, from %s to %s of the beginning of %s; the bound is %s",
		p.what, p.scope, length.Round(time.Millisecond), after(empty.from), after(empty.to), strings.Join(why, ", "), allowed.Round(time.Millisecond))
}

// hits reports whether a step is meant for the leader of a scope. The scopes of the gates'
// callers belong to one fault, whose steps name them.
func (b Step) hits(scope string) bool {
	if len(b.Scopes) == 0 {
		return scope == Scope || scope == RunScope
	}
	return slices.Contains(b.Scopes, scope)
}
