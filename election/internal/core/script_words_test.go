package core_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// input reads one input.
func (s *script) input(verb string, words []string) core.Input {
	a := args(words)
	switch verb {
	case "tick":
		return core.Tick{}
	case "opened":
		return core.Opened{}
	case "tried":
		return s.tried(words)
	case "beaten":
		return s.beaten(a)
	case "parted":
		return s.parted(a)
	case "failed":
		_, lost := a["lost"]
		return core.Failed{Lost: lost, Err: errScript}
	case "woken":
		w := core.Woken{Scope: a["scope"], Holder: a["holder"]}
		_, _ = fmt.Sscan(a["process"], &w.Process)
		return w
	case "stepdown":
		epoch, _ := strconv.ParseInt(cmpOr(a["epoch"], "0"), 10, 64)
		return core.StepDown{
			Scope: words[0], Epoch: epoch, Why: core.ErrStepDown, Actor: a["actor"], To: a["to"],
			How: mint.Ending(a["how"]), Timeout: s.duration(cmpOr(a["timeout"], "10s")),
		}
	case "enlisted":
		return core.Enlisted{}
	case "add":
		return core.Add{Seat: s.seatOf(words[0], args(words[1:]))}
	case "retire":
		return core.Retire{Scope: words[0]}
	case "rest":
		return core.Rest{Scope: words[0], For: s.duration(a["for"])}
	case "ended":
		return core.Ended{Scope: words[0]}
	case "stop":
		return core.Stop{Timeout: s.duration(cmpOr(a["timeout"], "10s"))}
	}
	s.t.Fatalf("no input is called %q", verb)
	return nil
}

func cmpOr(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}

// parted answers Said to every farewell but those of SCOPE=stale and SCOPE=locked.
func (s *script) parted(a map[string]string) core.Input {
	var in core.Parted
	if release, ok := s.pending.(core.Release); ok {
		for _, f := range release.Farewells {
			in.Answers = append(in.Answers, map[string]mint.Parting{
				"": {Outcome: mint.Said}, "stale": {Outcome: mint.Over}, "locked": {Outcome: mint.Locked, By: "pid 7 (psql)"},
			}[a[f.Token.Scope]])
		}
	}
	return in
}

// tried reads results: SCOPE=OUTCOME, followed by the other fields of that result.
func (s *script) tried(words []string) core.Input {
	in := core.Tried{Sent: s.sent}
	var r *mint.Result
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		if slices.ContainsFunc(s.bids, func(b mint.Bid) bool { return b.Scope == k }) {
			in.Results = append(in.Results, mint.Result{Scope: k, Outcome: outcomes[v]})
			r = &in.Results[len(in.Results)-1]
			if r.Outcome == mint.Won {
				epoch := s.tokens[k].Epoch + 1
				r.Token = fence.Token{Scope: k, Holder: "me", Epoch: epoch, Term: fence.Term{15: byte(epoch), 0: k[0]}}
			}
			if r.Outcome == mint.Refused || r.Outcome == mint.Locked {
				r.Why = errScript
			}
			continue
		}
		if r == nil {
			continue // the request has no such bid
		}
		switch k {
		case "hold":
			r.Hold = s.duration(v)
		case "handoff":
			r.Handoff = true
		case "by":
			r.Holder = v
		case "age":
			r.Age = s.duration(v)
		case "own": // the term that this process led last is still the latest
			r.Term = s.tokens[r.Scope].Term
		case "process":
			_, _ = fmt.Sscan(v, &r.Process)
		case "evicted":
			r.Blockers = []mint.Blocker{{PID: 42, Query: v, Ended: true, What: "pid 42"}}
		case "stuck":
			r.Blockers = []mint.Blocker{{What: v}}
		default:
			s.t.Fatalf("tried: %q", w)
		}
	}
	if _, asked := s.pending.(core.Try); asked && len(in.Results) != len(s.bids) {
		s.t.Fatalf("%d results for the bids %v", len(in.Results), s.bids)
	}
	return in
}

var outcomes = map[string]mint.Outcome{
	"": mint.Won, "won": mint.Won, "held": mint.Held, "busy": mint.Busy,
	"yield": mint.Yield, "refused": mint.Refused, "locked": mint.Locked,
}

// beaten answers Renewed for every term but Over for SCOPE=dead and Locked for SCOPE=locked.
func (s *script) beaten(a map[string]string) core.Input {
	in := core.Beaten{Sent: s.sent}
	for _, p := range s.pulses {
		answer := mint.Renewed
		switch a[p.Token.Scope] {
		case "dead":
			answer = mint.Over
		case "locked":
			answer = mint.Locked
		}
		in.Answers = append(in.Answers, answer)
	}
	return in
}

func (s *script) shows(actions []core.Action) {
	for _, a := range actions {
		s.out = append(s.out, s.show(a))
	}
}

// show returns an action as one line.
func (s *script) show(a core.Action) string {
	switch a := a.(type) {
	case core.Connect:
		return "connect"
	case core.Disconnect:
		return "disconnect"
	case core.Done:
		return "done"
	case core.Try:
		return "try " + list(a.Bids, func(b mint.Bid) string {
			return b.Scope + given(b.Block > 0, " block "+b.Block.String()) + given(b.Evict, " evict") + given(b.Explain, " explain")
		})
	case core.Beat:
		return "beat " + cmpOr(list(a.Pulses, func(p mint.Pulse) string {
			return name(p.Token) + given(p.Settle, " settle")
		}), "nothing, to stay alive")
	case core.Release:
		return "release " + list(a.Farewells, func(f mint.Farewell) string {
			return name(f.Token) + given(f.Released, " released") + given(!f.Released, " NOT released") +
				given(f.To != "", " to "+f.To) + given(f.Actor != "", " by "+f.Actor) + given(f.Bare, " bare") +
				": " + given(f.How != "", string(f.How)+", ") + f.Reason
		})
	case core.Enlist:
		return fmt.Sprintf("enlist +%v -%v longest %s", a.Roll.Add, a.Roll.Withdraw, a.Roll.Longest)
	case core.Forget:
		return "forget " + a.Scope
	case core.Open:
		return fmt.Sprintf("open %s act from %s until %s", name(a.Token), s.at(a.ActFrom), s.at(a.Deadline))
	case core.Enter:
		return "enter " + name(a.Token)
	case core.Extend:
		return fmt.Sprintf("extend %s until %s", a.Scope, s.at(a.Deadline))
	case core.Suspend:
		return "suspend " + a.Scope
	case core.Prolong:
		return fmt.Sprintf("prolong %s until %s", a.Scope, s.at(a.Deadline))
	case core.Hurry:
		return fmt.Sprintf("hurry %s: by %s", a.Scope, s.at(a.By))
	case core.Shut:
		return fmt.Sprintf("shut %s: %v", name(a.Token), a.Why)
	case core.Watch:
		return "watch " + cmpOr(list(a.Processes, func(p int64) string { return fmt.Sprint(p) }), "nobody")
	case core.Report:
		return "fact " + fact(a.Fact)
	}
	return fmt.Sprintf("%#v", a)
}

func fact(f core.Fact) string {
	parts := map[string]string{}
	add := func(k string, v any, there bool) {
		if there {
			parts[k] = fmt.Sprintf("%s=%v", k, v)
		}
	}
	add("after", f.After.Round(10*time.Microsecond), f.After != 0)
	add("hold", f.Hold, f.Hold != 0)
	add("handoff", f.Handoff, f.Handoff)
	add("holder", f.Holder, f.Holder != "")
	add("took", f.Took.Round(10*time.Microsecond), f.Took != 0)
	add("blockers", f.Blockers, len(f.Blockers) > 0)
	add("err", f.Err, f.Err != nil)
	text := string(f.Kind)
	if f.Token.Epoch != 0 {
		text += " " + name(f.Token)
	} else if f.Scope != "" {
		text += " " + f.Scope
	}
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		text += " " + parts[k]
	}
	return text
}

func name(t fence.Token) string { return fmt.Sprintf("%s#%d", t.Scope, t.Epoch) }

func given(there bool, text string) string {
	if there {
		return text
	}
	return ""
}

func list[T any](all []T, show func(T) string) string {
	var parts []string
	for _, x := range all {
		parts = append(parts, show(x))
	}
	return strings.Join(parts, ", ")
}
