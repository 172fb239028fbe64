package pending

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// answer is how the store and the nodes answer an action.
func (s *stubborn) answer(a action) input {
	switch a := a.(type) {
	case load:
		snap, _ := s.store.Load(s.Context(), "a", a.Final, s.m.set.Held.Most)
		if best := s.count(s.policy.load) + snap.Life.First; !snap.has(best) && !s.m.set.Lives {
			snap, _ = s.store.Load(s.Context(), "a", min(a.Final, best), s.m.set.Held.Most)
		}
		return loaded{Snapshot: snap, Best: s.count(s.policy.load) + snap.Life.First}
	case assign:
		return s.assign(a)
	case replace:
		return s.replace(a)
	case submit:
		return sent{Attempts: a.Attempts, Outcomes: slices.Repeat([]chain.Outcome{{Verdict: s.policy.verdict, Text: "its words"}}, len(a.Attempts))}
	case probe:
		out := seen{Hashes: a.Hashes}
		for _, l := range a.Hashes {
			out.Sightings = append(out.Sightings, s.sight(l))
		}
		return out
	case search:
		placed, next := s.scan(a.Of, a.From)
		return found{Recall: a.Recall, Life: a.Life, From: a.From, Index: a.Index, Placed: inward(placed, s.m.life.First), Next: next}
	case survey:
		return s.survey(a)
	case link:
		out := linked{Of: a.Of, Slots: a.Slots}
		for _, one := range a.Slots {
			out.Are = append(out.Are, slices.ContainsFunc(s.branches[s.policy.link], func(b stubbornBlock) bool { return b.Hash == one.Block.Hash }))
		}
		return out
	case confirm:
		return s.confirm(a)
	case page:
		slots, _ := s.store.Slots(s.Context(), "a", a.From, a.To)
		return paged{From: a.From, To: a.To, Slots: slots}
	case save:
		if err := s.write(Batch{Changes: a.Changes, Hold: a.Hold, Opens: a.Opens}); err != nil {
			s.Fatal(err)
		}
		return saved{}
	}
	s.Fatalf("no such action: %T", a)
	return nil
}

func (s *stubborn) survey(a survey) input {
	placed, next := s.scan(a.Of, a.From)
	out := surveyed{Of: a.Of, Next: next}
	for _, one := range inward(placed, s.m.life.First) {
		switch {
		case one.Reaped || one.Index < a.First:
		case s.policy.stand != chain.Agrees:
			out.Next = min(out.Next, one.Block.Number)
		default:
			out.Proven = append(out.Proven, one.Index)
		}
	}
	return out
}

func (s *stubborn) confirm(a confirm) input {
	out := confirmed{Claims: slices.Clone(a.Claims)}
	for i := range out.Claims {
		c := &out.Claims[i]
		if c.Said = (chain.Opinion{By: "two", Why: "its words", Stand: s.policy.stand}); c.Foreign && s.policy.unproven {
			c.Unproven = "its words"
		}
	}
	return out
}

func (s *stubborn) sign(index uint64, filler bool, same []chain.Hash) chain.Prepared {
	head := s.branches[s.policy.load][len(s.branches[s.policy.load])-1]
	s.made++
	p := chain.Prepared{Signed: chain.Signed{Account: "a", Index: index, Hash: chain.Hash(fmt.Sprint("tx ", index, " ", s.made)), Fee: chain.Fee{Tip: big.NewInt(1)}, Filler: filler}, Err: s.policy.unsigned}
	if s.m.set.Era > 0 {
		p.Until, p.Version = head.Number+uint64(s.rand.IntN(8)), head.version
	}
	if s.policy.same && len(same) > 0 && p.Err == nil {
		p.Err = chain.ErrEnough
	}
	return p
}

func (s *stubborn) assign(a assign) input {
	if errors.Is(s.policy.unsigned, ErrOvertaken) {
		return broke{Action: a}
	}
	q, _ := s.store.Queue(s.Context(), "a", a.Relaxed, a.Most)
	var prepared []chain.Prepared
	for i := range q.nextTries() {
		prepared = append(prepared, s.sign(a.First+uint64(i), false, nil))
	}
	if len(prepared) == 0 {
		return stored{}
	}
	b, out := a.judgeTried(q, prepared, s.m.head.Number)
	out.Slots, out.Left = b.New, out.Left+q.leftOver()
	if err := s.write(b); err != nil {
		return broke{Action: a, Unsure: true}
	}
	return out
}

func (s *stubborn) replace(a replace) input {
	if errors.Is(s.policy.unsigned, ErrOvertaken) {
		return broke{Action: a}
	}
	var out stored
	var b Batch
	for _, r := range a.Replacements {
		p := s.sign(r.Index, r.Filler, r.Outworn)
		if p.Err != nil {
			if out.Unsigned = append(out.Unsigned, unsigned{Index: r.Index, Why: p.Err}); !errors.Is(p.Err, chain.ErrEnough) {
				out.Hold = p.Err
			}
			continue
		}
		one := Slot{Index: r.Index, Attempts: []chain.Signed{p.Signed}, Before: r.Before, Since: s.m.head.Number}
		if out.Slots = append(out.Slots, one); r.Gap {
			b.New = append(b.New, one)
		} else {
			b.Attempts = append(b.Attempts, one)
		}
	}
	if len(out.Slots) > 0 {
		if err := s.write(b); err != nil {
			return broke{Action: a, Unsure: true}
		}
	}
	return out
}

// scan reads the blocks of a branch.
func (s *stubborn) scan(of chain.Block, from uint64) (placed []chain.Inclusion, next uint64) {
	for _, b := range s.branches[s.policy.search] {
		if b.Number >= from && b.Number <= of.Number {
			placed = append(placed, b.with...)
		}
	}
	return placed, max(from, of.Number+1)
}

func (s *stubborn) sight(l lookup) (one chain.Sighting) {
	one.Pooled = s.policy.pooled
	for _, b := range s.branches[s.policy.probe] {
		for _, in := range b.with {
			if in.Hash == l.Hash && !s.m.set.NoIndex {
				one = chain.Sighting{Block: b.Block, Effect: in.Effect}
			}
		}
	}
	return one
}

func (s *stubborn) write(b Batch) error {
	s.writes++
	b.Account, b.Number = "a", s.writes
	return s.store.Write(s.Context(), fence.Token{}, b)
}
