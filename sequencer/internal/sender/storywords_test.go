package sender

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

func (s *story) attempt(name string) ledger.Hash {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "A"))
	if n < 1 || n > len(s.attempts) {
		return ledger.Hash{7}
	}
	return s.attempts[n-1]
}

func (s *story) delegation(id ledger.Hash) string {
	if id == (ledger.Hash{}) {
		return "none"
	}
	at := slices.Index(s.ids, id)
	if at < 0 {
		at = len(s.ids)
		s.ids = append(s.ids, id)
	}
	return fmt.Sprint("D", at+1)
}

func (s *story) attemptName(h ledger.Hash) string {
	if h == (ledger.Hash{}) {
		return "-"
	}
	return fmt.Sprint("A", slices.Index(s.attempts, h)+1)
}

// say returns an action as a line of a story.
func (s *story) say(a Action) string {
	var w strings.Builder
	switch a := a.(type) {
	case Submitted:
		fmt.Fprintf(&w, "tell %s that it is accepted", a.Key)
	case Finished:
		fmt.Fprintf(&w, "tell %s that it is %s", a.Key, s.result(a.Result))
	case Nudge:
		w.WriteString("nudge the chain")
	case Blame:
		fmt.Fprintf(&w, "leave %s out %s", string(a.Member), [...]string{"until the range turns", "for a while, since nothing lands by it"}[a.For])
	case SendCancellation:
		fmt.Fprintf(&w, "send a cancellation of %s", s.keys[a.Intent.Sequence])
	case Judge:
		s.judges = append(s.judges, a)
		w.WriteString("judge")
		for _, q := range a.Questions {
			fmt.Fprintf(&w, " %s", s.keys[q.Sequence])
			for _, g := range q.Given {
				fmt.Fprintf(&w, " %s≤%d", s.attemptName(g.Assembled), g.ValidUntil)
			}
		}
	case Store:
		s.stores = append(s.stores, a)
		s.sayStore(&w, a)
	case Send:
		fmt.Fprintf(&w, "to %s: ", string(a.To))
		s.sayMessage(&w, a)
	}
	return w.String()
}

func (s *story) result(r ledger.Result) string {
	if r.Confirmed {
		return fmt.Sprintf("confirmed, %s in block %d", s.attemptName(r.Assembled), r.Block)
	}
	return "reverted: " + r.Why
}

func (s *story) sayStore(w *strings.Builder, a Store) {
	w.WriteString("store")
	for _, row := range a.Intents {
		s.keys[row.Sequence], s.seqs[row.Key] = row.Key, row.Sequence
		fmt.Fprintf(w, " [%s is %d-%d: %s]", row.Key, row.Sequence.Lineage, row.Sequence.Counter, row.Payload)
	}
	for _, g := range a.Grants {
		fmt.Fprintf(w, " [grant of %s %s to %s under %s until %d]", s.keys[g.Sequence], s.attemptName(g.Assembled), string(g.To), s.delegation(g.Grant.Delegation), g.ValidUntil)
	}
	for _, k := range a.Marks {
		fmt.Fprintf(w, " [%s", s.keys[k.Sequence])
		if k.Failures > 0 {
			fmt.Fprintf(w, " failed %d", k.Failures)
		}
		if k.Dispatched != (ledger.Hash{}) {
			fmt.Fprintf(w, " dispatched %s", s.attemptName(k.Dispatched))
		}
		if k.Over != (ledger.Hash{}) {
			fmt.Fprintf(w, " over %s", s.attemptName(k.Over))
		}
		if k.GivenUp != "" {
			fmt.Fprintf(w, " given up: %s", k.GivenUp)
		}
		w.WriteString("]")
	}
	for _, r := range a.Results {
		fmt.Fprintf(w, " [%s %s]", s.keys[r.Sequence], s.result(r))
	}
}

func (s *story) sayMessage(w *strings.Builder, a Send) {
	switch body := a.Message.Body.(type) {
	case wire.Delegate:
		s.delegates[a.To] = a.Message.Request
		fmt.Fprintf(w, "delegate %s range %d", s.delegation(body.Delegation), body.Range)
		for _, other := range body.Avoid {
			fmt.Fprintf(w, " avoiding %s", string(other))
		}
		for _, o := range body.Intents {
			s.last[s.keys[o.Sequence]] = body.Delegation
			fmt.Fprintf(w, " %s", s.keys[o.Sequence])
		}
	case wire.Assembled:
		w.WriteString("assembled")
		for _, r := range body.Results {
			key := s.keys[r.Sequence]
			if r.Why != wire.Done {
				fmt.Fprintf(w, " %s:%v", key, r.Why)
				if r.NotBefore > 0 {
					fmt.Fprintf(w, "(%v)", r.NotBefore)
				}
				continue
			}
			h := model.Fake{}.Assembled(s.contract, r.Attempt)
			if !slices.Contains(s.attempts, h) {
				s.attempts = append(s.attempts, h)
				s.wholes = append(s.wholes, wire.Whole{Attempt: r.Attempt, Payload: r.Payload, Outputs: r.Outputs})
			}
			s.made[key] = h
			fmt.Fprintf(w, " %s:%s", key, s.attemptName(h))
		}
	case wire.Granted:
		w.WriteString("granted")
		for _, r := range body.Items {
			if r.Why != wire.Done {
				fmt.Fprintf(w, " %s:%v", s.keys[r.Sequence], r.Why)
				continue
			}
			fmt.Fprintf(w, " %s:%s≤%d", s.keys[r.Sequence], s.attemptName(r.Grant.Assembled), r.Grant.ValidUntil)
		}
	case wire.AskList:
		s.lists[a.To] = a.Message.Request
		w.WriteString("ask for the list")
	case wire.Noted:
		w.WriteString("noted")
	case wire.Rejected:
		fmt.Fprintf(w, "rejected: %v", body.Why)
	}
}
