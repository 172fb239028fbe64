package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Blow is one of several things that a fault does, each with a promise of its own.
type Blow struct {
	What   string
	Scopes []string      // whose leaders it is meant for; none: the machines'
	At     fence.Instant // read before
	Until  fence.Instant // read when nobody waited for its end any more
	Bound  promise
}

// Gated is what strangers did on the answers of HTTP gates about one scope.
type Gated struct {
	Scope       string
	From, Until fence.Instant // in between there must be a leader; 0: nobody looked
	Acts        []evidence.Act
}

// promise is how long a scope may be without a leader, in leases, at either door.
type promise struct{ fenced, act float64 }

// The promises are those of docs/guarantees.md, L1 to L8, and one lease more: when a
// lease is over is decided by the server, whose timers and retries come on top.
var (
	crash  = promise{2, 3} // L1: its connection ends. L2: one lease later at the act door
	silent = promise{2, 3} // L3: after a lease, and after two
	clean  = promise{0, 0} // L4
	stuck  = promise{2, 3} // L5: a fence that is held is ended after a lease
	late   = promise{4, 5} // L8: two leases, and one more if the farewell fails
)

// promised are the bounds of each kind. What a fault does before it is over counts from
// its beginning, unless nobody can lead while it is on.
var promised = map[Kind]promise{
	Kill9: crash, Backend: crash, Reset: crash,
	PGRestart: crash, PGKill: crash, LocksFull: crash, ClockAhead: crash, ClockBack: crash,
	StopShort: silent, StopLong: silent, Silent: silent, SilentToServer: silent, SilentToClient: silent, Deaf: silent,
	Latency: late, FrozenFence: stuck, BusyFence: stuck,
	Rolling: crash, // a node that ends in order takes its time to come back
	// The others do several things, each with a promise of its own: [Wound.Blows].
}

// spare is what a busy machine may add to each promise, and what a clean handover gets.
const spare = time.Second

// post is a place that is to have a leader, as the evidence shows it.
type post struct {
	what, scope string
	act         bool // behind the act door
	signs       []span
}

// span is a time in which somebody is known to have led.
type span struct{ from, to fence.Instant }

// posts are all that were watched.
func (e Evidence) posts() []post {
	spans := func(acts []evidence.Act) (s []span) {
		for _, a := range acts {
			s = append(s, span{a.Start, a.End})
		}
		return s
	}
	rows := post{what: "rows under the fence", scope: Scope}
	for _, a := range e.Record.Acks {
		rows.signs = append(rows.signs, span{a.At, a.At})
	}
	all := []post{
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
		all = append(all, post{"a yes of the HTTP gate", g.Scope, true, append(spans(g.Acts), span{g.From, g.From}, span{g.Until, g.Until})})
	}
	return all
}

// unled looks for scopes that had no leader for longer than the faults that were on, or
// had just been, explain.
func (e Evidence) unled(say sayer) {
	strokes := e.strokes()
	for _, p := range e.posts() {
		if len(p.signs) == 0 {
			continue
		}
		slices.SortFunc(p.signs, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		last := p.signs[0].to
		for _, s := range p.signs[1:] {
			if s.from > last {
				e.vacant(p, span{last, s.from}, strokes, say)
			}
			last = max(last, s.to)
		}
	}
}

// stroke is a blow as it is judged.
type stroke struct {
	Blow
	outage span // nobody could lead in it
}

// strokes are all that was done to anybody.
func (e Evidence) strokes() (all []stroke) {
	for i, w := range e.Wounds {
		for _, b := range w.Blows {
			all = append(all, stroke{Blow: b})
		}
		bound, plain := promised[w.Fault.Kind]
		if !plain {
			continue
		}
		on := span{w.At, max(w.At, w.Done, w.Over)}
		s := stroke{Blow: Blow{What: string(w.Fault.Kind), At: on.from, Until: on.to.Add(spare), Bound: bound}} // its end may be felt a moment later
		if w.Fault.Joined || i+1 < len(e.Wounds) && e.Wounds[i+1].Fault.Joined || e.outage(w) {
			s.outage = on
		}
		all = append(all, s)
	}
	return all
}

// outage tells whether no machine can lead while a fault is on. Under keep only the end of
// a connection frees a scope. Two faults at once may: the second may hit the successor.
func (e Evidence) outage(w Wound) bool {
	t, _ := traitOf(w.Fault.Kind)
	switch w.Fault.Kind {
	case PGRestart, PGKill, LocksFull:
		return true
	default:
		return e.Takeover == election.Keep || t.place == line && len(w.Nodes) >= e.Machines
	}
}

// vacant judges one time without a leader.
func (e Evidence) vacant(p post, empty span, strokes []stroke, say sayer) {
	length := empty.to.Sub(empty.from)
	allowed, begun, why := spare, empty.from, []string{}
	for _, s := range strokes {
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
	if len(why) == 0 { // a busy machine may cost anybody the leadership
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

// hits tells whether a blow is meant for the leader of a scope. Scopes of strangers are
// there for one fault alone, whose blows name them.
func (b Blow) hits(scope string) bool {
	if len(b.Scopes) == 0 {
		return scope == Scope || scope == RunScope
	}
	return slices.Contains(b.Scopes, scope)
}
