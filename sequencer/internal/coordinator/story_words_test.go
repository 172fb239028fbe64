package coordinator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// whys are the reasons as stories write them.
var whys = map[string]wire.Why{
	"conflict": wire.Conflict, "failed": wire.Failed, "ended": wire.Ended, "moved": wire.Moved, "later": wire.NotBefore, "unknown": wire.Unknown,
	"refused": wire.Refused, "old": wire.TooOld, "step": wire.OutOfStep, "busy": wire.Busy, "malformed": wire.Malformed,
}

var kinds = map[string]wire.Kind{
	"assemble": wire.KindAssemble, "endorse": wire.KindEndorse, "grant": wire.KindAskGrant, "handover": wire.KindAskHandover,
}

// body reads a message, and for an answer which request it answers.
func (s *stage) body(word string, args []string) (wire.Body, wire.Kind) {
	switch word {
	case "delegate":
		d := wire.Delegate{Delegation: named(args[0])}
		r, _ := strconv.Atoi(args[1])
		d.Range = ranking.Range(r)
		for _, a := range args[2:] {
			if member, is := strings.CutPrefix(a, "avoid="); is {
				d.Avoid = append(d.Avoid, ledger.Account(member))
				continue
			}
			d.Intents = append(d.Intents, wire.Offer{Sequence: sequence(a)})
		}
		return d, 0
	case "attempts":
		var b wire.Assembled
		for _, a := range args {
			seq, rest, _ := strings.Cut(a, "=")
			r := wire.Result{Sequence: sequence(seq), Why: whys[rest]}
			if r.NotBefore = 0; r.Why == wire.NotBefore {
				r.NotBefore = 300 * time.Millisecond
			}
			if r.Why == wire.Done {
				e := s.inherited(a)
				r.Attempt, r.Outputs = e.Attempt, e.Outputs
				r.Attempt.Owner = s.speaker
			}
			b.Results = append(b.Results, r)
		}
		return b, wire.KindAssemble
	case "verdicts":
		var b wire.Endorsed
		for _, a := range args {
			x, why, _ := strings.Cut(a, "=")
			b.Verdicts = append(b.Verdicts, wire.Verdict{Assembled: named(x), Why: whys[why]})
		}
		return b, wire.KindEndorse
	case "grants", "late":
		var b wire.Granted
		for _, a := range args {
			seq, rest, _ := strings.Cut(a, "=")
			parts := append(strings.Split(rest, ":"), "", "")
			r := wire.GrantResult{Sequence: sequence(seq), Why: whys[parts[0]]}
			if r.Why == wire.Done {
				until, _ := strconv.ParseUint(parts[2], 10, 64)
				r.Grant = ledger.Grant{Assembled: named(parts[0]), Coordinator: "A", Delegation: named(parts[1]), ValidUntil: until}
			}
			b.Items = append(b.Items, r)
		}
		if word == "late" {
			return b, 0
		}
		return b, wire.KindAskGrant
	case "noted":
		return wire.Noted{}, wire.KindDispatched
	case "list":
		return wire.AskList{}, 0
	case "handover":
		r, _ := strconv.Atoi(args[0])
		return wire.AskHandover{Range: ranking.Range(r)}, 0
	case "handed":
		var h wire.Handover
		for _, a := range args {
			owner, a, _ := strings.Cut(a, "/")
			e := s.inherited(a)
			e.Attempt.Owner = ledger.Account(owner)
			h.Entries = append(h.Entries, e)
		}
		return h, wire.KindAskHandover
	case "rejects":
		return wire.Rejected{Why: whys[args[1]]}, kinds[args[0]]
	}
	s.t.Fatalf("no such word: %s", word)
	return nil, 0
}

// say writes actions, and remembers what they ask.
func (s *stage) say(actions []Action) (done []string) {
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			if isRequest(a.Message.Body) {
				s.asked[keyOf(a.Message.Body.Kind(), a.To)] = a.Message.Request
			}
			done = append(done, fmt.Sprintf("%s: %s", string(a.To), sayBody(a.Message.Body)))
		case Pulse:
			done = append(done, fmt.Sprintf("%s: beat, range %d, has %d", string(a.To), a.Pulse.Range, a.Pulse.Digest.Count))
		case Store:
			s.store = a.Number
			var rows []string
			for _, r := range a.Rows {
				rows = append(rows, fmt.Sprintf("%s until %d", name(r.Grant.Assembled), r.Grant.ValidUntil))
			}
			done = append(done, "store "+strings.Join(rows, ", "))
		case Submit:
			text := "submit"
			for _, e := range a.Entries {
				text += " " + string(e.Data)
			}
			done = append(done, text)
		case Review:
			text := "review"
			for _, e := range a.Awaited {
				text += " " + string(e.Data)
			}
			s.reviewed, done = a.Awaited, append(done, text)
		case Note:
			done = append(done, "note"+intents(a.Intents))
		case Forget:
			done = append(done, "forget"+intents(a.Intents))
		case Nudge:
			done = append(done, "nudge")
		case Blame:
			done = append(done, string(a.Member)+" signs wrongly")
		case Judge:
			text := "judge"
			for _, g := range a.Given {
				text += " " + name(g.Assembled)
			}
			done = append(done, text)
		}
	}
	return done
}

func intents(all []ledger.Intent) (text string) {
	for _, in := range all {
		text += fmt.Sprintf(" %s/%d", string(in.Owner), in.Sequence.Counter)
	}
	return text
}

func sayBody(b wire.Body) (text string) {
	steps := func(items []wire.Step) {
		for _, i := range items {
			text += fmt.Sprintf(" %d", i.Sequence.Counter)
		}
	}
	ids := func(before string, list []ledger.StateID) {
		if len(list) > 0 {
			text += before
			for _, id := range list {
				text += " " + name(ledger.Hash(id))
			}
		}
	}
	switch b := b.(type) {
	case wire.Accepted:
		return "accepted"
	case wire.Rejected:
		return "rejected, " + b.Why.String()
	case wire.Assemble:
		text = "assemble"
		steps(b.Items)
		ids("; locked", b.Context.Locked)
		var created []ledger.StateID
		for _, c := range b.Context.Created {
			created = append(created, c.ID)
		}
		ids("; created", created)
		ids("; gone", b.Context.Gone)
		ids("; withheld", b.Withheld)
	case wire.Endorse:
		if text = "endorse"; b.Range > 3 {
			text = fmt.Sprintf("in range %d endorse", b.Range)
		}
		for _, w := range b.Attempts {
			text += " " + string(w.Attempt.Data)
		}
		for i, w := range b.Upstream {
			text += map[bool]string{true: " built on ", false: " "}[i == 0] + string(w.Attempt.Data)
		}
	case wire.AskGrant:
		text = "grant"
		for _, i := range b.Items {
			text += fmt.Sprintf(" %d=%s", i.Sequence.Counter, name(i.Assembled))
		}
	case wire.Dispatched:
		text = "dispatched"
		for _, i := range b.Items {
			text += fmt.Sprintf(" %d=%s", i.Sequence.Counter, name(i.Assembled))
		}
	case wire.Returned:
		text = "returned"
		steps(b.Items)
		text += ", " + b.Why.String()
		if b.Better != "" {
			text += ", better is " + string(b.Better)
		}
	case wire.List:
		text = "list"
		for _, q := range b.Sequences {
			text += fmt.Sprintf(" %d", q.Counter)
		}
	case wire.AskHandover:
		text = fmt.Sprintf("hand over, range %d", b.Range)
	case wire.Handover:
		text = "has dispatched"
		for _, e := range b.Entries {
			text += " " + string(e.Attempt.Data)
		}
	default:
		text = fmt.Sprintf("%T", b)
	}
	return text
}
