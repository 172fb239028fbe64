package pending

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// S24: a machine with few slots in memory goes through a chain whose blocks come, are taken back and become final while
// its actions are answered late and out of order, and its rows are loaded anew. After each step, what it believes of a
// transaction is what it was told, and each nonce is in one place. In the end all are in blocks, which waits for nothing to
// become final or late, and then all are final.
func TestSlotsThatLeave(t *testing.T) {
	t.Parallel()
	seeds := uint64(25)
	if os.Getenv("CONCH_NIGHTLY") != "" {
		seeds = 20_000
	}
	for seed := range seeds {
		s := newDeepSim(t, seed)
		if s.live(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type simBlock struct {
	chain.Block
	with []chain.Hash // of nonces from first on
	from uint64
}

// deepSim is a chain, a store and a machine.
type deepSim struct {
	*testing.T
	rand   *rand.Rand
	m      *machine
	now    fence.Instant
	store  Memory
	branch []simBlock
	final  int  // the position of the last final block
	stands bool // nothing becomes final
	made   int  // blocks
	pool   map[uint64]chain.Hash
	open   []func() input // the answers to actions
	writes uint64
}

func newDeepSim(t *testing.T, seed uint64) *deepSim {
	s := &deepSim{T: t, rand: rand.New(rand.NewPCG(seed, 5)), now: fence.Instant(time.Hour), pool: map[uint64]chain.Hash{}}
	late := time.Duration(1+seed%3) * 100 * time.Millisecond
	if seed%2 == 0 {
		late = time.Hour
	}
	s.m = newMachine(settings{
		MaxInFlight: 12, MaxBatch: 5, ResendAfter: 2, FillAfter: 6, FinalAfter: late, SearchAfter: 2, Retry: 10 * time.Millisecond, Patience: time.Second,
		Held: held{Most: 2 + int(seed%4), Guests: 4, Page: 1 + int(seed%4), Depth: 1},
	})
	s.branch = []simBlock{{Block: chain.Block{Number: 1, Hash: "genesis"}}}
	return s
}

func (s *deepSim) live() {
	s.step(tick{})
	for n := range 250 {
		s.stands = n > 100 && s.m.set.FinalAfter == time.Hour
		s.happen()
	}
	waits := func() bool { w, _ := s.store.Waiting(s.Context(), "a"); return w.Queued > 0 }
	for range 1500 {
		if s.m.rows.phase == working && s.count() == s.m.next && !waits() {
			break
		}
		s.goOn()
	}
	if s.count() != s.m.next || waits() {
		s.Errorf("the chain has %d transactions and nothing more comes; next is %d", s.count(), s.m.next)
	}
	s.stands = false
	for range 3000 {
		if s.m.isIdle() {
			break
		}
		if s.goOn(); len(s.branch)-5 > s.final {
			s.finalize(len(s.branch) - 5)
		}
	}
	for _, r := range s.store.Records() {
		if r.Fate != Done {
			s.Errorf("an intent is %v: %+v", r.Fate, r.Last)
		}
	}
	if !s.m.isIdle() {
		s.Errorf("not idle in the end: %d slots, %d runs", len(s.m.slots.inOrder()), len(s.m.deep.order))
	}
}

// goOn makes a block, and answers what was asked.
func (s *deepSim) goOn() {
	s.accept(0)
	s.apply(9)
	s.now = s.now.Add(50 * time.Millisecond)
	for n := 0; len(s.open) > 0 && n < 50; n++ {
		s.answer(0)
	}
}

func (s *deepSim) happen() {
	s.now = s.now.Add(time.Duration(s.rand.IntN(40)) * time.Millisecond)
	switch n := s.rand.IntN(20); {
	case n < 9:
		if len(s.open) > 0 {
			s.answer(s.rand.IntN(len(s.open)))
		}
	case n < 11:
		s.accept(s.rand.IntN(5))
	case n < 15:
		s.apply(s.rand.IntN(6))
	case n < 17:
		s.finalize(s.final + s.rand.IntN(3))
	case n < 18:
		s.revert(1 + s.rand.IntN(4))
	case n < 19:
		s.step(tick{})
	case s.rand.IntN(2) == 0:
		s.step(lost{})
		s.step(turned{Turn: chain.Turn{Kind: chain.Applied, Block: s.head().Block}, Count: s.count()})
	}
}

func (s *deepSim) head() simBlock { return s.branch[len(s.branch)-1] }

// count is the account's next nonce at the head.
func (s *deepSim) count() uint64 { return s.head().from + uint64(len(s.head().with)) }

func (s *deepSim) accept(n int) {
	for range n {
		if _, err := s.store.Accept(s.Context(), Intent{Account: "a"}); err != nil {
			s.Fatal(err)
		}
	}
	waits, _ := s.store.Waiting(s.Context(), "a")
	s.step(woken{Waits: waits, Counted: true})
}

func (s *deepSim) apply(most int) {
	s.made++
	b := simBlock{from: s.count(), Block: chain.Block{Number: s.head().Number + 1, Hash: chain.Hash(fmt.Sprint("block ", s.made)), Parent: s.head().Hash}}
	in := turned{Turn: chain.Turn{Kind: chain.Applied, Block: b.Block}}
	for s.pool[s.countWith(b)] != "" && len(b.with) < most {
		index := s.countWith(b)
		b.with = append(b.with, s.pool[index])
		in.Inclusions = append(in.Inclusions, chain.Inclusion{Index: index, Hash: s.pool[index], Block: b.Block})
		delete(s.pool, index)
	}
	s.branch = append(s.branch, b)
	in.Count = s.count()
	s.step(in)
}

func (s *deepSim) countWith(b simBlock) uint64 { return b.from + uint64(len(b.with)) }

func (s *deepSim) finalize(to int) {
	if s.stands {
		return
	}
	if s.final = min(to, len(s.branch)-1); s.final > 0 {
		s.step(turned{Turn: chain.Turn{Kind: chain.Finalized, Block: s.branch[s.final].Block, By: "one"}})
	}
}

// revert takes blocks back. A pool may have their transactions then, or not.
func (s *deepSim) revert(n int) {
	keeps := s.rand.IntN(2) == 0
	for ; n > 0 && len(s.branch)-1 > s.final; n-- {
		b := s.head()
		s.branch = s.branch[:len(s.branch)-1]
		for i, hash := range b.with {
			if keeps {
				s.pool[b.from+uint64(i)] = hash
			}
		}
		s.step(turned{Turn: chain.Turn{Kind: chain.Reverted, Block: b.Block}})
	}
	s.apply(s.rand.IntN(2)) // a new branch
}

func (s *deepSim) step(in input) {
	s.Helper()
	for _, a := range s.m.Step(s.now, in) {
		s.begin(a)
	}
	s.check()
}

func (s *deepSim) on(block chain.Block) bool {
	return slices.ContainsFunc(s.branch, func(b simBlock) bool { return b.Hash == block.Hash })
}

func (s *deepSim) check() {
	s.Helper()
	if s.m.rows.phase != working {
		return
	}
	seen := map[uint64]bool{}
	once := func(index uint64) {
		if seen[index] {
			s.Fatalf("nonce %d is in two places", index)
		}
		seen[index] = true
	}
	for _, one := range s.m.slots.inOrder() {
		if row := s.store.slots["a"][one.Index].last; one.saving == nil && !one.Final && (one.saved.Status != row.Status || one.saved.Block.Hash != row.Block.Hash) {
			s.Fatalf("the slot %d is taken to be stored as %v, and is as %v", one.Index, one.saved, row)
		}
		if once(one.Index); one.in != nil && one.streamed && !s.on(one.in.Block) {
			s.Fatalf("the slot %d is believed in %v, which has left the chain", one.Index, one.in.Block)
		}
	}
	last := uint64(0)
	for _, r := range s.m.deep.order {
		if r.First < last || r.Last < r.First {
			s.Fatalf("runs out of order: %+v", r)
		}
		last = r.Last + 1
		for index := r.First; index <= r.Last; index++ {
			once(index)
			if row := s.store.slots["a"][index].last; row.Block.Hash != r.Block.Hash && row.Block.Hash != "nowhere" || row.Status != InBlock && !r.Late {
				s.Fatalf("the row of nonce %d is not that of %+v: %+v", index, r, row)
			}
		}
		if r.streamed && !r.reverted && !s.on(r.Block) {
			s.Fatalf("the run %+v is believed, and its block has left the chain", r)
		}
	}
	for index := s.m.loadedFrom; index < s.m.next; index++ {
		if !seen[index] {
			s.Fatalf("nonce %d is nowhere; next is %d", index, s.m.next)
		}
	}
}

func (s *deepSim) answer(at int) {
	in := s.open[at]()
	s.open = slices.Delete(s.open, at, at+1)
	s.step(in)
}

func (s *deepSim) write(b Batch) {
	s.writes++
	b.Account, b.Number = "a", s.writes
	if err := s.store.Write(s.Context(), fence.Token{}, b); err != nil {
		s.Fatal(err)
	}
}

func (s *deepSim) begin(a action) {
	fails := s.rand.IntN(10) == 0
	switch a.(type) {
	case Alarm, assign, replace, submit, save, load:
	default:
		if fails {
			s.open = append(s.open, func() input { return broke{Action: a} })
			return
		}
	}
	switch a := a.(type) {
	case Alarm:
		if a.Cause == Disagree || a.Cause == Rewound || a.Cause == Consumed {
			s.Fatalf("alarm: %+v", a)
		}
	case page: // the rows are read now or later
		if row := s.store.slots["a"][a.From]; s.rand.IntN(20) == 0 { // somebody else writes it
			row.last.Block.Hash = "nowhere"
		}
		slots, _ := s.store.Slots(s.Context(), "a", a.From, a.To)
		early := s.rand.IntN(2) == 0
		s.open = append(s.open, func() input {
			if !early {
				slots, _ = s.store.Slots(s.Context(), "a", a.From, a.To)
			}
			return paged{From: a.From, To: a.To, Slots: slots}
		})
	case load:
		snap, _ := s.store.Load(s.Context(), "a", math.MaxInt64, s.m.set.Held.Most)
		if best := s.count(); !snap.has(best) {
			snap, _ = s.store.Load(s.Context(), "a", best, s.m.set.Held.Most)
		}
		best := s.count()
		s.open = append(s.open, func() input { return loaded{Snapshot: snap, Best: best} })
	default:
		s.open = append(s.open, func() input { return s.perform(a) })
	}
}

func (s *deepSim) perform(a action) input {
	switch a := a.(type) {
	case assign:
		q, _ := s.store.Queue(s.Context(), "a", a.Relaxed, a.Most)
		out := stored{Left: q.Left}
		for i := range q.Oldest {
			out.Slots = append(out.Slots, Slot{Index: a.First + uint64(i), Intent: &q.Oldest[i].ID, Since: s.head().Number, Attempts: []chain.Signed{signed(a.First+uint64(i), 1)}})
		}
		s.write(Batch{New: out.Slots})
		return out
	case replace:
		s.Fatalf("replaced without need: %+v", a)
	case submit:
		out := sent{Attempts: a.Attempts}
		for _, one := range a.Attempts {
			got := chain.Outcome{Verdict: chain.Accepted}
			if one.Index < s.count() {
				got.Verdict = chain.IndexTooLow
			} else if s.rand.IntN(8) > 0 { // else the pool drops it at once
				s.pool[one.Index] = one.Hash
			}
			out.Outcomes = append(out.Outcomes, got)
		}
		return out
	case probe:
		out := seen{Hashes: a.Hashes}
		for _, l := range a.Hashes {
			out.Sightings = append(out.Sightings, s.find(l))
		}
		return out
	case search:
		out := found{Recall: a.Recall, Index: a.Index, Next: a.Of.Number + 1}
		for _, b := range s.branch {
			for i, hash := range b.with {
				if b.Number >= a.From {
					out.Placed = append(out.Placed, chain.Inclusion{Index: b.from + uint64(i), Hash: hash, Block: b.Block})
				}
			}
		}
		return out
	case link:
		out := linked{Of: a.Of, Slots: a.Slots}
		for _, one := range a.Slots {
			out.Are = append(out.Are, s.on(one.Block))
		}
		return out
	case confirm:
		out := confirmed{}
		for _, c := range a.Claims {
			c.Said = chain.Opinion{By: "two", Stand: chain.Differs}
			if s.on(c.Block) {
				c.Said.Stand = chain.Agrees
			}
			if s.rand.IntN(6) == 0 {
				c.Said.Stand = chain.Mute
			}
			out.Claims = append(out.Claims, c)
		}
		return out
	case save:
		s.write(Batch{Changes: a.Changes, Hold: a.Hold})
		return saved{}
	}
	s.Fatalf("no such action: %T", a)
	return nil
}

func (s *deepSim) find(l lookup) chain.Sighting {
	for _, b := range s.branch {
		if l.Index >= b.from && l.Index < s.countWith(b) {
			return chain.Sighting{Block: b.Block}
		}
	}
	if s.pool[l.Index] != "" {
		return chain.Sighting{Pooled: true}
	}
	return chain.Sighting{}
}

func signed(index uint64, fee int64) chain.Signed {
	return chain.Signed{Account: "a", Index: index, Hash: chain.Hash(fmt.Sprint("tx ", index)), Fee: chain.Fee{Tip: big.NewInt(fee)}, Gas: 21_000}
}
