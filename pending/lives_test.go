package pending_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// inLife runs a test in a bubble, with an account that can cease to exist.
func inLife(t *testing.T, do func(w *wearing)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wearing{t: t, node: chaintest.New(chaintest.Config{Seed: 1, Era: era, NoIndex: true, Lives: true}), store: &pending.Memory{}}
		w.from = w.node.Account("sender", 1<<60)
		w.line = w.node.Line()
		w.lead()
		do(w)
		w.end()
	})
}

// reap ends the account in the next block, and lets it exist again after it.
func (w *wearing) reap() {
	w.node.Reap(w.from)
	w.mine(1)
	w.node.Fund(w.from, 1<<60)
}

// replay sends all that was ever signed once more, as anybody can who has seen it.
func (w *wearing) replay() {
	all := w.store.AllAttempts(w.from)
	slices.SortFunc(all, func(a, b chain.Signed) int { return int(a.Index) - int(b.Index) })
	w.line.Submit(w.t.Context(), all)
}

// life returns the number of the account's life.
func (w *wearing) life() uint64 {
	w.t.Helper()
	l, err := w.store.Life(w.t.Context(), w.from)
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Number
}

// carriedOut returns how often the chain has carried out each call of the account, by its data, fillers left out. All that it has must have
// been stored.
func carriedOut(t *testing.T, line *chaintest.Line, from chain.Account, stored []chain.Signed) map[string]int {
	t.Helper()
	head, err := line.Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := line.Scan(t.Context(), head, from, 0, math.MaxInt32)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for _, one := range all {
		if one.Reaped {
			continue
		}
		at := slices.IndexFunc(stored, func(a chain.Signed) bool { return a.Hash == one.Hash })
		if at < 0 {
			t.Fatalf("the transaction with nonce %d was never stored", one.Index)
		}
		var tx struct{ Data []byte }
		if err := json.Unmarshal(stored[at].Bytes, &tx); err != nil {
			t.Fatal(err)
		}
		if !stored[at].Filler {
			done[string(tx.Data)]++
		}
	}
	return done
}

// wantOnce checks by the chain that each intent was carried out once, and that the store says so, in which life they ended.
func (w *wearing) wantOnce(life uint64) {
	w.t.Helper()
	done := carriedOut(w.t, w.line, w.from, w.store.AllAttempts(w.from))
	for i, r := range w.store.Records() {
		if n := done[string(r.Call.Data)]; n != 1 || r.Fate != pending.Done {
			w.t.Errorf("intent %d was carried out %d times, and is %v (%s, %+v)", i, n, r.Fate, r.Why, r.Last)
		}
	}
	if got := w.life(); got != life {
		w.t.Errorf("the account is in its life %d, want %d", got, life)
	}
}

// F3, Z8: an account with five ends is reaped, and funded again. One more intent is done in the new life; nothing is signed in vain.
func TestAReapedAccountBeginsAnew(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(5)
		w.mine(12)
		w.wantOnce(0)
		signed := len(w.store.AllAttempts(w.from))
		w.reap()
		w.accept(1)
		w.mine(2 * era)
		w.wantOnce(1)
		if n := len(w.store.AllAttempts(w.from)) - signed; n > 4 { // pads, and the intent
			t.Errorf("%d attempts were signed for one intent", n)
		}
		r, err := w.store.Get(t.Context(), w.ids[5])
		if err != nil || r.First == 0 || *r.Index < r.First || *r.Index-r.First > 3 {
			t.Errorf("its nonce is %d, counted from %d (error %v); want one of the first of a new life", *r.Index, r.First, err)
		}
	})
}

// Z6: the first that is signed is a filler that is good for a few blocks, and nothing else is before it is final and dead.
func TestAPadComesFirst(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(3)
		all := w.store.AllAttempts(w.from)
		head, err := w.line.Tip(t.Context())
		if err != nil || len(all) != 1 || !all[0].Filler || all[0].Until > head.Number+4 {
			t.Fatalf("at block %d are signed %+v (error %v); want one filler for the next few blocks", head.Number, all, err)
		}
		w.node.Mine() // it is in a block that is not final
		w.pass(5 * time.Second)
		for w.node.Mine().Number < all[0].Until {
			w.pass(5 * time.Second)
		}
		if n := len(w.store.AllAttempts(w.from)); n != 1 {
			t.Fatalf("%d attempts are signed before the pad is final, want 1", n)
		}
		w.mine(8)
		w.wantOnce(0)
	})
}

// Z8: intents that are in a pool when the account is reaped wait for the new life, and are done in it, also if everybody sends all that was
// ever signed, in each block.
func TestWhatIsUnderWayMovesToTheNextLife(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		w.mine(12)
		w.accept(3)
		w.node.Drop() // no block has them
		w.reap()
		for range 2 * era {
			w.mine(1)
			w.replay()
		}
		w.wantOnce(1)
	})
}

// Z3, Z8: what has landed in the old life is done first. The leader was away when it did, and when the account was reaped.
func TestWhatHasLandedIsDone(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(1)
		w.mine(12)
		w.accept(3)
		w.end()
		w.mine(1)
		w.reap()
		w.mine(2)
		w.lead()
		w.accept(1)
		w.mine(2 * era)
		w.wantOnce(1)
	})
}

// Z3, Z8: a leader that begins while the old life waits for its attempts to die goes on waiting.
func TestTheNextLifeIsNotBegunAtOnce(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(1)
		w.mine(12)
		w.accept(2)
		w.node.Drop()
		w.reap()
		for range era / 2 {
			w.mine(1)
			w.lead()
		}
		if w.life() != 0 {
			t.Fatal("the next life has begun before all that was signed is dead")
		}
		w.mine(2 * era)
		w.wantOnce(1)
	})
}

// Z7: a branch that has the end of the account dies: nothing has happened.
func TestABranchWithAnEndDies(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		w.mine(12)
		w.node.Reap(w.from)
		w.node.Mine()
		w.pass(3 * time.Second)
		w.accept(2)
		if n := len(w.store.AllAttempts(w.from)); n != 3 {
			t.Errorf("%d attempts are signed while the account may have ceased to exist, want the 3 from before", n)
		}
		w.node.Reorg(1, nil, nil)
		w.mine(6)
		w.wantOnce(0)
	})
}

// Z7: no block says any more that the account was reaped. That is an alarm, and nothing is signed until a person has said so; a word about
// another life is refused.
func TestAPersonSaysThatALifeIsOver(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		w.mine(12)
		w.end()
		w.reap()
		w.mine(era)
		w.node.Forget()
		w.lead()
		w.accept(1)
		w.mine(era)
		if w.life() != 0 || len(w.store.AllAttempts(w.from)) != 3 || !w.isAlarmed(pending.Reaped) {
			t.Fatalf("life %d, %d attempts, alarm %v; want nothing to be signed, and the alarm reaped", w.life(), len(w.store.AllAttempts(w.from)), w.isAlarmed(pending.Reaped))
		}
		if err := w.store.SayOver(t.Context(), w.from, 1); !errors.Is(err, pending.ErrNoLife) {
			t.Errorf("a word about life 1, which has not begun: got error %v", err)
		}
		if err := w.store.SayOver(t.Context(), w.from, 0); err != nil {
			t.Fatal(err)
		}
		w.mine(20)
		w.wantOnce(1)
		if w.isAlarmed(pending.Reaped) {
			t.Error("the alarm has not ended")
		}
	})
}

// Z7: an endpoint that is behind counts fewer nonces. That is no end: nothing is taken back, and the account goes on.
func TestALowCountIsNoEnd(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		behind := w.node.Fork()
		w.mine(12)
		w.wantOnce(0)
		w.end()
		line := w.line
		w.line = behind.Line()
		w.lead() // asks the one that is behind
		w.accept(1)
		w.line = line
		w.lead()
		w.mine(8)
		w.wantOnce(0)
	})
}

// Z6, schedule 8 of the review: the other holder of a key could use the nonces below ours in a new life, and our old transactions would be
// good once more. So such a key is refused.
func TestAKeyThatIsSharedIsRefused(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{Era: era, Lives: true})
	m, err := pending.New(pending.Config{Account: node.Account("sender", 1), Chain: node.Line(), Store: &pending.Memory{}, SharedKey: true})
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New(scope, bubbleClock)
	token := fence.Token{Scope: scope, Epoch: 1}
	latch.Open(token, 0, bubbleClock().Add(time.Hour))
	if err := m.Lead(t.Context(), gate, token); !errors.Is(err, pending.ErrShared) {
		t.Errorf("got error %v, want %v", err, pending.ErrShared)
	}
}

// Z1: where accounts have lives, and transactions never wear out, nothing is ever dead.
func TestLivesWithoutAnEraAreRefused(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{Lives: true})
	m, err := pending.New(pending.Config{Account: node.Account("sender", 1), Chain: node.Line(), Store: &pending.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	gate, _ := fence.New(scope, bubbleClock)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := m.Lead(ctx, gate, fence.Token{Scope: scope, Epoch: 1}); err == nil || !strings.Contains(err.Error(), "wears out") {
		t.Errorf("got error %v", err)
	}
}

// Z4, Z8: a runtime is upgraded, an era is over and the account is reaped, under load and while leaders change: each intent is done once.
func TestAllAtOnce(t *testing.T) {
	inLife(t, func(w *wearing) {
		w.mine(3)
		for n := range 4 * era {
			if n < 3*era && n%5 == 0 {
				w.accept(2)
			}
			switch n {
			case era / 2:
				w.node.Upgrade("2")
			case era:
				w.reap()
			case 2 * era:
				w.lead()
			}
			if n > era/2 && n < era { // a node that takes everything, and includes nothing
				w.node.Drop()
			}
			w.mine(1)
			w.replay()
		}
		w.mine(2 * era)
		w.wantOnce(1)
		if done := carriedOut(t, w.line, w.from, w.store.AllAttempts(w.from)); len(done) != len(w.ids) {
			t.Errorf("%d of %d intents are in the chain: %v", len(done), len(w.ids), slices.Sorted(maps.Keys(done)))
		}
	})
}
