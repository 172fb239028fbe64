package pending

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// A leader that asks the same again and again, as fast as it is answered, is a processor, a store and an endpoint that are busy with nothing.
// So whatever is answered, and however the answers contradict each other, at one instant it comes to rest: it waits for time, or for a block.
func TestWhateverIsAnsweredTheMachineRests(t *testing.T) {
	t.Parallel()
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	if os.Getenv("CONCH_NIGHTLY") != "" {
		seeds = 100_000
	}
	for seed := range seeds {
		newStubborn(t, seed).live()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// stubborn are a store, which is honest, and nodes of one endpoint which are not: at one instant they answer a call always in the same way,
// each kind of call from a branch of its own.
type stubborn struct {
	*testing.T
	rand     *rand.Rand
	m        *machine
	now      fence.Instant
	store    Memory
	branches [2][]stubbornBlock
	on       int // the branch that the machine follows
	told     int // the height of it that the machine was told of
	made     int
	writes   uint64
	open     []action
	last     []string
	policy   stubbornness
}

// stubbornness is how all is answered at an instant.
type stubbornness struct {
	load, probe, search, link int // the branch
	pooled                    bool
	verdict                   chain.Verdict
	unsigned                  error
	same                      bool // what is signed anew is the same as before
	stand                     chain.Stand
	unproven                  bool
	order                     bool // the oldest action is answered first; else the newest
}

type stubbornBlock struct {
	chain.Block
	with    []chain.Inclusion
	version string
}

func newStubborn(t *testing.T, seed uint64) *stubborn {
	s := &stubborn{T: t, rand: rand.New(rand.NewPCG(seed, 13)), now: fence.Instant(time.Hour)}
	set := settings{
		MaxInFlight: 8, MaxBatch: 3, ResendAfter: 2, RaiseAfter: time.Second, FillAfter: 4, MostRaise: 10, FinalAfter: 5 * time.Second, SearchAfter: 2,
		Retry: 250 * time.Millisecond, Patience: 2 * time.Second, Pace: time.Second, RestoreWait: time.Second, RejectAfter: 3 * time.Second, Relaxed: seed%2 == 0,
		Held: held{Most: 2 + int(seed%5), Guests: 4, Page: 1 + int(seed%3), Depth: 1},
	}
	if seed%4 > 0 {
		set.Era = 8
	}
	set.NoIndex, set.Lives = seed%4 > 1, seed%4 > 2
	set.SharedKey = seed%7 == 0 && !set.Lives
	if seed%11 == 0 {
		set.StillAfter = 3 * time.Second
	}
	s.m = newMachine(set)
	genesis := stubbornBlock{Block: chain.Block{Number: 1, Hash: "genesis"}, version: "one"}
	for b := range s.branches {
		s.branches[b] = []stubbornBlock{genesis}
	}
	return s
}

func (s *stubborn) live() {
	s.step(tick{})
	for range 60 {
		s.policy = s.anyPolicy()
		s.happen()
		if s.Failed() {
			return
		}
		s.now = s.now.Add(time.Duration(s.rand.IntN(1500)) * time.Millisecond)
	}
}

func (s *stubborn) anyPolicy() stubbornness {
	errs := []error{nil, nil, nil, chain.ErrEnough, chain.ErrFee, chain.ErrFunds, chain.ErrOwed, chain.ErrCall, chain.ErrKey, chain.ErrUnclear, ErrOvertaken}
	p := stubbornness{
		load: s.rand.IntN(2), probe: s.rand.IntN(2), search: s.rand.IntN(2), link: s.rand.IntN(2), pooled: s.rand.IntN(2) == 0,
		verdict: chain.Verdict(s.rand.IntN(int(chain.Outworn) + 1)), unsigned: errs[s.rand.IntN(len(errs))], same: s.rand.IntN(3) == 0,
		stand: chain.Stand(s.rand.IntN(3)), unproven: s.rand.IntN(8) == 0, order: s.rand.IntN(2) == 0,
	}
	if s.rand.IntN(2) == 0 {
		p.verdict = chain.Accepted
	}
	return p
}

// happen has something happen, and all be answered that the machine then asks.
func (s *stubborn) happen() {
	switch s.rand.IntN(12) {
	case 0, 1:
		for range 1 + s.rand.IntN(3) {
			if _, err := s.store.Accept(s.Context(), Intent{Account: "a"}); err != nil {
				s.Fatal(err)
			}
		}
		waits, _ := s.store.Waiting(s.Context(), "a")
		s.step(woken{Waits: waits, Counted: true})
	case 2:
		if n := len(s.store.intents); n > 0 {
			_ = s.store.Cancel(s.Context(), s.store.intents[s.rand.IntN(n)].ID)
		}
		waits, _ := s.store.Waiting(s.Context(), "a")
		s.step(woken{Waits: waits, Counted: true})
	case 3, 4, 5, 6:
		s.extend(s.rand.IntN(2))
	case 7: // the machine hears of the other branch
		s.follow(1 - s.on)
	case 8:
		s.step([]input{lost{}, raised{}, moved{From: uint64(s.rand.IntN(4))}, tick{}}[s.rand.IntN(4)])
	default:
		s.follow(s.on)
		if s.told > 1 {
			s.step(turned{Turn: chain.Turn{Kind: chain.Finalized, Block: s.branches[s.on][s.rand.IntN(s.told)].Block, By: "one"}})
		}
	}
}

// extend adds a block to a branch, with attempts, or with what others have signed. Both branches may have it.
func (s *stubborn) extend(to int) {
	s.made++
	at := s.branches[to]
	head := at[len(at)-1]
	b := stubbornBlock{version: head.version, Block: chain.Block{Number: head.Number + 1, Hash: chain.Hash(fmt.Sprint("block ", s.made)), Parent: head.Hash}}
	for next := s.count(to); s.rand.IntN(3) > 0 && len(b.with) < 4; next++ {
		one := chain.Inclusion{Index: next, Hash: chain.Hash(fmt.Sprint("foreign ", s.made, " ", next)), Block: b.Block, Effect: chain.EffectOf(false)}
		if row := s.store.slots["a"][next+s.m.life.First]; row != nil && s.rand.IntN(6) > 0 {
			one.Hash = row.Attempts[s.rand.IntN(len(row.Attempts))].Hash
		} else if s.rand.IntN(3) > 0 {
			break
		}
		b.with = append(b.with, one)
	}
	if s.m.set.Lives && s.rand.IntN(6) == 0 {
		b.with = append(b.with, chain.Inclusion{Block: b.Block, Reaped: true})
	}
	if s.m.set.Era > 0 && s.rand.IntN(6) == 0 {
		b.version = fmt.Sprint("version ", s.made)
	}
	both := len(s.branches[0]) == len(s.branches[1]) && s.branches[1-to][len(at)-1].Hash == head.Hash && s.rand.IntN(3) > 0
	s.branches[to] = append(at, b)
	if both {
		s.branches[1-to] = append(s.branches[1-to], b)
	}
	s.follow(s.on)
}

// count is the chain's count at the head of a branch.
func (s *stubborn) count(branch int) (next uint64) {
	for _, b := range s.branches[branch] {
		for _, one := range b.with {
			if next = max(next, one.Index+1); one.Reaped {
				next = 0
			}
		}
	}
	return next
}

// follow tells the machine of all blocks of a branch of which it has not heard.
func (s *stubborn) follow(branch int) {
	if branch != s.on {
		old, to := s.branches[s.on], s.branches[branch]
		for s.told > 0 && (s.told > len(to) || old[s.told-1].Hash != to[s.told-1].Hash) {
			s.told--
			s.step(turned{Turn: chain.Turn{Kind: chain.Reverted, Block: old[s.told].Block}})
		}
		s.on = branch
	}
	for s.told < len(s.branches[s.on]) {
		b := s.branches[s.on][s.told]
		s.told++
		in := turned{Turn: chain.Turn{Kind: chain.Applied, Block: b.Block}, Inclusions: slices.Clone(b.with), Count: s.count(s.policy.load)}
		if s.m.set.Era > 0 {
			in.Version = b.version
		}
		s.step(in.within(s.m.life))
	}
}

// mostAnswers is how many answers may come at one instant until the machine rests.
const mostAnswers = 1000

// step feeds the machine, and answers all that it asks.
func (s *stubborn) step(in input) {
	s.feed(in)
	for n := 0; len(s.open) > 0; n++ {
		at := 0
		if !s.policy.order {
			at = len(s.open) - 1
		}
		a := s.open[at]
		s.open = slices.Delete(s.open, at, at+1)
		if s.feed(s.answer(a)); n > mostAnswers {
			s.Fatalf("at one instant there were %d answers, of which the last are:\n%s\n%+v", n, strings.Join(s.last, "\n"), s.policy)
		}
	}
	if next := s.m.Next(); next != 0 && next <= s.now {
		s.Fatalf("after %T at %v, Next returned %v, want a later instant", in, s.now, next)
	}
}

func (s *stubborn) feed(in input) {
	said := fmt.Sprintf("%T", in)
	for _, a := range s.m.Step(s.now, in) {
		said += fmt.Sprintf(" → %T %.300s", a, fmt.Sprintf("%+v", a))
		if _, is := a.(Alarm); !is {
			s.open = append(s.open, a)
		}
	}
	s.last = append(s.last[max(0, len(s.last)-11):], said)
}
