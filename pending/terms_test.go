package pending_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// sender is an account with a leader, on a chain on which the test mines.
type sender struct {
	t     *testing.T
	node  *chaintest.Node
	from  chain.Account
	store *pending.Memory
	cfg   pending.Config
	end   func()
}

func newSender(t *testing.T, cfg pending.Config) *sender {
	s := &sender{t: t, node: chaintest.New(chaintest.Config{Seed: 1, Depth: 3, MinTip: 10}), store: &pending.Memory{}, cfg: cfg}
	s.from = s.node.Account("sender", 1<<60)
	s.cfg.Account, s.cfg.Chain, s.cfg.Store, s.cfg.Sequence = s.from, s.node.Line(), s.store, new(pending.Sequence)
	_, s.end = leads(t, s.cfg)
	return s
}

// follow has another leader take over.
func (s *sender) follow() {
	s.end()
	_, s.end = leads(s.t, s.cfg)
}

func (s *sender) accept(in pending.Intent) pending.ID {
	s.t.Helper()
	in.Account, in.Call.To = s.from, []byte("x")
	out, err := s.store.Accept(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return out.ID
}

func (s *sender) get(id pending.ID) pending.Record {
	s.t.Helper()
	r, err := s.store.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// mine mines a block a second.
func (s *sender) mine(blocks int) {
	for range blocks {
		s.node.Mine()
		time.Sleep(time.Second)
	}
}

func (s *sender) attempts(id pending.ID) []pending.Attempt {
	s.t.Helper()
	all, err := s.store.Attempts(s.t.Context(), s.from, *s.get(id).Index)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// settled is how long it takes at most until what was accepted is signed and sent, with a look at the store each second.
const settled = 2500 * time.Millisecond

func lately(in time.Duration) time.Time { return time.Now().Add(in) }

// C4.12: a deadline that passes once the intent has a nonce. In a pool the call is called back, and the intent is expired once the
// filler is final and not before, also if the leader changes in between. In a block it goes on, and is done.
func TestWhatIsTooLateInAPoolIsCalledBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deadline func(*pending.Intent)
		stuck    bool // no block takes it by its deadline
		takeover bool
		want     pending.Fate
	}{
		"in a pool, by the time":            {func(in *pending.Intent) { in.ValidUntil = lately(20 * time.Second) }, true, false, pending.Expired},
		"in a pool, by the block":           {func(in *pending.Intent) { in.LastBlock = 20 }, true, false, pending.Expired},
		"in a pool, another leader":         {func(in *pending.Intent) { in.ValidUntil = lately(20 * time.Second) }, true, true, pending.Expired},
		"in a pool, another leader, blocks": {func(in *pending.Intent) { in.LastBlock = 20 }, true, true, pending.Expired},
		"in a block":                        {func(in *pending.Intent) { in.ValidUntil = lately(20 * time.Second) }, false, false, pending.Done},
		"in a block, another leader":        {func(in *pending.Intent) { in.LastBlock = 20 }, false, true, pending.Done},
		"of conch itself":                   {func(in *pending.Intent) { in.LastBlock, in.Space = 20, "conch" }, true, true, pending.Open},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, pending.Config{})
				defer func() { s.end() }()
				in := pending.Intent{Call: chain.Call{Data: []byte("pay")}, Terms: pending.Terms{MaxFee: big.NewInt(200)}}
				c.deadline(&in)
				s.mine(2)
				id := s.accept(in)
				time.Sleep(settled) // no block has come
				if c.stuck {
					s.node.SetBaseFee(300)
					s.mine(14)
				} else {
					s.mine(2) // it is not final
					time.Sleep(25 * time.Second)
					if r := s.get(id); r.Fate != pending.Open || r.Last.Block.Hash == "" || r.Late {
						t.Errorf("in a block, and after its deadline: %s %s, called back: %v; want it open as before", r.Standing(), r.Last.Status, r.Late)
					}
				}
				if c.takeover {
					s.follow()
				}
				s.mine(8)
				if c.takeover {
					s.follow()
				}
				if r := s.get(id); c.want == pending.Expired && r.Fate == pending.Open && !r.Late {
					t.Errorf("after its deadline it is not called back: %s", r.Last.Waits)
				}
				s.mine(12)
				r := s.get(id)
				if r.Fate != c.want || r.Index == nil {
					t.Errorf("it is %s %s with the nonce %v; want %v", r.Standing(), r.Last.Status, r.Index, c.want)
				}
				filled := false
				for _, a := range s.attempts(id) {
					filled = filled || a.Filler
				}
				if filled != (c.want == pending.Expired) {
					t.Errorf("a filler was signed: %v", filled)
				}
			})
		})
	}
}

// Once called back, an intent is not carried out even if the chain takes back the blocks of its filler; and it is not expired before those
// are final.
func TestExpiredIsSaidOfAFinalFiller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, pending.Config{})
		defer s.end()
		s.mine(2)
		id := s.accept(pending.Intent{ValidUntil: lately(5 * time.Second), Terms: pending.Terms{MaxFee: big.NewInt(200)}})
		time.Sleep(settled)
		s.node.SetBaseFee(300)
		for range 20 {
			if s.mine(1); s.get(id).Last.Block.Hash != "" {
				break
			}
		}
		if r := s.get(id); r.Fate != pending.Open || r.Last.Status != pending.InBlock {
			t.Fatalf("its filler is in a block: %s %s, want it open and in_block", r.Standing(), r.Last.Status)
		}
		s.node.Reorg(2, nil, nil, nil)
		time.Sleep(time.Second)
		if r := s.get(id); r.Fate != pending.Open {
			t.Errorf("the block of its filler has left the chain: %s", r.Standing())
		}
		s.mine(12)
		if r := s.get(id); r.Fate != pending.Expired || r.Outcome() != "expired" {
			t.Errorf("it is %s %s, want it expired", r.Standing(), r.Last.Status)
		}
	})
}

// No attempt with the call offers more than max_fee, however long it waits, and it says why it waits; a filler may offer more.
func TestItsOwnCeiling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sent", "unsent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, pending.Config{RaiseAfter: 5 * time.Second})
				defer s.end()
				if s.mine(2); name == "unsent" {
					s.node.SetBaseFee(400)
					s.mine(1)
				}
				id := s.accept(pending.Intent{Terms: pending.Terms{MaxFee: big.NewInt(250)}})
				time.Sleep(settled)
				s.node.SetBaseFee(400)
				s.mine(60)
				r := s.get(id)
				said := r.Last.Waits
				if name == "unsent" {
					said = r.Hold.Why
				}
				if r.Fate != pending.Open || !strings.Contains(said, "its own max_fee is 250") || !strings.Contains(said, "at least 4") {
					t.Errorf("it is %s, and says %q; want it open, with its ceiling and what is needed", r.Standing(), said)
				}
				if name == "sent" {
					for _, a := range s.attempts(id) {
						if a.Fee.Max.Int64() > 250 {
							t.Errorf("an attempt offers %v", a.Fee.Max)
						}
					}
				}
				s.node.SetBaseFee(100)
				s.mine(15)
				if r := s.get(id); r.Fate != pending.Done {
					t.Errorf("after fees have fallen it is %s: %s", r.Standing(), r.Last.Waits)
				}
			})
		})
	}
}

// In relaxed order others pass an intent whose own ceiling is too low; in strict order they wait, as behind one that cannot be paid.
func TestOthersPassACeiling(t *testing.T) {
	t.Parallel()
	for _, relaxed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSender(t, pending.Config{Relaxed: relaxed})
			defer s.end()
			s.node.SetBaseFee(400)
			s.mine(2)
			low := s.accept(pending.Intent{Terms: pending.Terms{MaxFee: big.NewInt(250)}})
			other := s.accept(pending.Intent{})
			s.mine(20)
			if r := s.get(other); (r.Fate == pending.Done) != relaxed {
				t.Errorf("relaxed %v: the other one is %s", relaxed, r.Standing())
			}
			r := s.get(low)
			if why := r.Refusal.Why; r.Standing() != pending.Queued || r.Refusal.Cause != pending.Fees || !strings.Contains(why, "its own max_fee is 250") {
				t.Errorf("relaxed %v: it is %s, since %v %q; want it queued, and its ceiling", relaxed, r.Standing(), r.Refusal.Cause, why)
			}
		})
	}
}

// The first attempt of a slow one offers less, that of a fast one more, and each is raised after its own time.
func TestSpeedsAreSentAndRaised(t *testing.T) {
	t.Parallel()
	for speed, c := range map[chain.Speed]struct {
		max, tip int64
		raised   int // seconds, three blocks at least
	}{chain.Slow: {135, 10, 80}, chain.Normal: {210, 10, 20}, chain.Fast: {220, 20, 7}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSender(t, pending.Config{RaiseAfter: 20 * time.Second})
			defer s.end()
			s.mine(2)
			id := s.accept(pending.Intent{Terms: pending.Terms{Speed: speed}})
			time.Sleep(settled)
			first := s.attempts(id)[0].Fee
			if first.Max.Int64() != c.max || first.Tip.Int64() != c.tip {
				t.Errorf("%v: the first attempt offers %v and a tip of %v, want %d and %d", speed, first.Max, first.Tip, c.max, c.tip)
			}
			s.node.SetBaseFee(10_000) // no block takes it
			s.mine(c.raised - 4)
			if n := len(s.attempts(id)); n != 1 {
				t.Errorf("%v: %d attempts before %d s", speed, n, c.raised)
			}
			s.mine(8)
			if n := len(s.attempts(id)); n != 2 {
				t.Errorf("%v: %d attempts after %d s, want another one", speed, n, c.raised)
			}
		})
	}
}

// The same key with another speed or ceiling is another request; with another deadline it is the same, since a caller who asks again may
// count that from now.
func TestTermsBelongToTheKey(t *testing.T) {
	t.Parallel()
	store := &pending.Memory{}
	base := pending.Intent{Account: "a", Key: "k", ValidUntil: lately(time.Hour), Terms: pending.Terms{Speed: chain.Fast, MaxFee: big.NewInt(5)}}
	first, err := store.Accept(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*pending.Intent)
		want   error
	}{
		"the same":         {func(*pending.Intent) {}, nil},
		"another deadline": {func(in *pending.Intent) { in.ValidUntil, in.LastBlock = lately(2*time.Hour), 7 }, nil},
		"another speed":    {func(in *pending.Intent) { in.Speed = chain.Slow }, pending.ErrConflict},
		"another ceiling":  {func(in *pending.Intent) { in.MaxFee = big.NewInt(6) }, pending.ErrConflict},
		"no ceiling":       {func(in *pending.Intent) { in.MaxFee = nil }, pending.ErrConflict},
	} {
		in := base
		c.change(&in)
		if again, err := store.Accept(t.Context(), in); !errors.Is(err, c.want) || err == nil && again.ID != first.ID {
			t.Errorf("%s: got %x, error %v; want error %v", name, again.ID, err, c.want)
		}
	}
}
