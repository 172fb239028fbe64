package pending_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

const era = 64

// wearing is an account on a chain whose attempts wear out, and its leader.
type wearing struct {
	t     *testing.T
	node  *chaintest.Node
	line  *chaintest.Line
	store *pending.Memory
	from  chain.Account
	ids   []pending.ID
	epoch int64
	end   func()

	mu      sync.Mutex
	alarmed map[pending.Cause]bool // whether an alarm is raised
}

// inWearing runs a test in a bubble.
func inWearing(t *testing.T, do func(w *wearing)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wearing{t: t, node: chaintest.New(chaintest.Config{Seed: 1, Era: era}), store: &pending.Memory{}}
		w.from = w.node.Account("sender", 1<<60)
		w.line = w.node.Line()
		w.lead()
		do(w)
		w.end()
	})
}

// lead starts a leader, and ends the one before.
func (w *wearing) lead() {
	w.t.Helper()
	if w.end != nil {
		w.end()
	}
	w.epoch++
	token := fence.Token{Scope: scope, Epoch: w.epoch, Holder: fmt.Sprint("node ", w.epoch), Term: fence.Term{byte(w.epoch)}}
	gate, latch := fence.New(scope, bubbleClock)
	latch.Open(token, 0, bubbleClock().Add(1000*time.Hour))
	w.alarmed = map[pending.Cause]bool{}
	noted := w.alarmed
	m, err := pending.New(pending.Config{Account: w.from, Chain: w.line, Store: w.store, Clock: bubbleClock, Events: pending.Events{Alarm: func(a pending.Alarm) {
		w.mu.Lock()
		defer w.mu.Unlock()
		noted[a.Cause] = a.Raised
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, kill := context.WithCancel(w.t.Context())
	over := make(chan struct{})
	go func() { defer close(over); _ = m.Lead(ctx, gate, token) }()
	w.end = func() { kill(); <-over }
}

// isAlarmed reports whether the leader has raised an alarm.
func (w *wearing) isAlarmed(cause pending.Cause) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.alarmed[cause]
}

func (w *wearing) accept(n int) {
	w.t.Helper()
	for range n {
		in, err := w.store.Accept(w.t.Context(), pending.Intent{Account: w.from, Call: chain.Call{To: []byte("somebody"), Data: fmt.Append(nil, "intent ", len(w.ids))}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.ids = append(w.ids, in.ID)
	}
	w.pass(3 * time.Second)
}

// pass lets virtual time pass.
func (*wearing) pass(d time.Duration) { time.Sleep(d) }

// mine makes blocks, each of which is final after two more, a second apart.
func (w *wearing) mine(blocks int) {
	for range blocks {
		w.node.Finalize()
		w.node.Mine()
		w.pass(time.Second)
	}
}

// signed returns the attempts that are stored for a nonce.
func (w *wearing) signed(index uint64) (all []chain.Signed) {
	for _, a := range w.store.AllAttempts(w.from) {
		if a.Index == index {
			all = append(all, a)
		}
	}
	return all
}

// wantDone checks by the chain that each intent was carried out once, and nothing else, and that the store says so.
func (w *wearing) wantDone() {
	w.t.Helper()
	head, err := w.line.Tip(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	all, _, err := w.line.Scan(w.t.Context(), head, w.from, 0, math.MaxInt32)
	if err != nil {
		w.t.Fatal(err)
	}
	stored := w.store.AllAttempts(w.from)
	done := map[string]int{}
	for _, one := range all {
		at := slices.IndexFunc(stored, func(a chain.Signed) bool { return a.Hash == one.Hash })
		if at < 0 {
			w.t.Fatalf("the transaction with nonce %d was never stored", one.Index)
		}
		var tx struct{ Data []byte }
		if err := json.Unmarshal(stored[at].Bytes, &tx); err != nil {
			w.t.Fatal(err)
		}
		done[string(tx.Data)]++
	}
	for i, r := range w.store.Records() {
		if n := done[string(r.Call.Data)]; n != 1 || r.Fate != pending.Done {
			w.t.Errorf("intent %d was carried out %d times, and is %v (%s, %+v)", i, n, r.Fate, r.Why, r.Last)
		}
	}
	if len(all) != len(w.ids) {
		w.t.Errorf("the chain has %d transactions of the account, want %d: another nonce was given, or a filler", len(all), len(w.ids))
	}
}

// Z4, Z5: three good intents are in a pool when the runtime of the chain is upgraded. They are signed anew for the same
// nonces, once the block with the upgrade is final, once each; and so again after the next upgrade.
func TestAnUpgradeRejectsNothing(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(3)
		for version := 2; version <= 3; version++ {
			w.node.Drop() // so that the block with the upgrade does not have them
			w.node.Upgrade(fmt.Sprint(version))
			w.node.Mine()
			w.pass(10 * time.Second)
			for index := range uint64(3) {
				if n := len(w.signed(index)); n != version-1 {
					t.Fatalf("nonce %d has %d attempts before version %d is final, want %d", index, n, version, version-1)
				}
			}
			w.node.Finalize()
			w.pass(10 * time.Second)
			for index := range uint64(3) {
				if all := w.signed(index); len(all) != version || all[version-1].Version != fmt.Sprint(version) {
					t.Fatalf("nonce %d has the attempts %+v, want one more, for version %d", index, all, version)
				}
			}
		}
		w.mine(6)
		w.wantDone()
	})
}

// Z4: without final blocks a version stays once it is 16 blocks deep.
func TestAnUpgradeThatIsDeep(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(1)
		w.node.Drop()
		w.node.Upgrade("2")
		for n := range 17 {
			if got := len(w.signed(0)); got != 1 {
				t.Fatalf("%d attempts after %d blocks, want 1", got, n)
			}
			w.node.Mine()
			w.pass(time.Second)
		}
		w.pass(5 * time.Second)
		if got := len(w.signed(0)); got != 2 {
			t.Fatalf("%d attempts once the upgrade is deep, want 2", got)
		}
		w.mine(6)
		w.wantDone()
	})
}

// Z4: a fork on which the runtime is upgraded, and then not, again and again, has nothing signed anew: what was signed before is good
// on the branch that stays.
func TestAForkedUpgradeIsNoStorm(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(4)
		for n := range 8 {
			w.node.Drop()
			w.node.Upgrade(fmt.Sprint(n + 2))
			w.node.Mine()
			w.pass(3 * time.Second)
			w.node.Drop()
			w.node.Reorg(1, nil, nil)
			w.pass(3 * time.Second)
		}
		w.mine(6)
		w.wantDone()
		if n := len(w.store.AllAttempts(w.from)); n != 4 {
			t.Errorf("%d attempts were signed for 4 nonces", n)
		}
	})
}

// Z4, Z16: an attempt whose era is over is signed anew for the same nonce and the same fee, once an era; a leader that begins then does so
// too.
func TestAnEraThatIsOver(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		for round := 1; round <= 3; round++ {
			for range era + 1 {
				w.node.Drop() // a node that takes everything, and includes nothing
				w.mine(1)
			}
			if w.lead(); round == 3 {
				w.pass(5 * time.Second)
			}
		}
		for index := range uint64(2) {
			all := w.signed(index)
			if len(all) < 3 || len(all) > 7 {
				t.Errorf("nonce %d has %d attempts after three eras and three leaders, want 3 to 7", index, len(all))
			}
			for i, a := range all[1:] {
				if a.Until <= all[i].Until || a.Fee.Max.Cmp(all[i].Fee.Max) != 0 {
					t.Errorf("attempt %d of nonce %d is good until %d for %v, that before until %d for %v", i+2, index, a.Until, a.Fee.Max, all[i].Until, all[i].Fee.Max)
				}
			}
		}
		w.mine(8)
		w.wantDone()
	})
}

// Z4: bytes that a node has banned are signed anew for the same nonce, at once but not again and again.
func TestWhatIsBannedIsSignedAnew(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(1)
		for n := 1; n <= 2; n++ {
			for _, a := range w.signed(0) {
				w.node.Ban(a.Hash)
			}
			for range 12 {
				w.node.Drop()
				w.mine(1)
				for _, a := range w.signed(0) {
					w.node.Ban(a.Hash)
				}
			}
			if got := len(w.signed(0)); got != 2 {
				t.Fatalf("%d attempts, want 2: one more at most in half an era", got)
			}
		}
		for range era { // no longer banned: what is new is taken
			w.mine(1)
		}
		w.wantDone()
	})
}

// Z4, S20: once in half an era, also while leaders change: one that begins knows from what is stored when it was signed anew last.
func TestANewLeaderSignsNothingAnewAtOnce(t *testing.T) {
	inWearing(t, func(w *wearing) {
		bans := func(blocks int) {
			for range blocks {
				for _, a := range w.signed(0) {
					w.node.Ban(a.Hash)
				}
				w.mine(1)
			}
		}
		w.mine(3)
		w.accept(1)
		bans(era / 8)
		for range 3 {
			w.lead()
			bans(era / 8)
			if got := len(w.signed(0)); got != 2 {
				t.Fatalf("%d attempts, want 2: one more at most in half an era, and %d leaders", got, w.epoch)
			}
		}
		bans(era / 4)
		if got := len(w.signed(0)); got != 3 {
			t.Errorf("%d attempts after more than half an era, want 3", got)
		}
		w.mine(era)
		w.wantDone()
	})
}

// A signature that comes out the same again is not stored as another attempt, and not asked for with each block.
func TestASignatureThatComesOutTheSame(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(1)
		w.node.Ban(w.signed(0)[0].Hash)
		before := w.line.Calls("Prepare")
		for range 8 { // nothing becomes final, so what is signed anew is born in the same block
			w.node.Mine()
			w.pass(3 * time.Second)
		}
		if n, asked := len(w.signed(0)), w.line.Calls("Prepare")-before; n != 1 || asked != 1 {
			t.Errorf("%d attempts after %d times of signing, want the first alone after 1", n, asked)
		}
		w.mine(era)
		w.wantDone()
	})
}

// A cancellation of what is outworn is a filler for the same nonce.
func TestWhatIsOutwornIsCancelled(t *testing.T) {
	inWearing(t, func(w *wearing) {
		w.mine(3)
		w.accept(2)
		w.node.Drop()
		w.node.Upgrade("2")
		w.node.Mine()
		w.pass(3 * time.Second)
		if err := w.store.Cancel(t.Context(), w.ids[0]); err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Second) // until it is heard
		w.mine(10)
		for i, want := range []pending.Fate{pending.Cancelled, pending.Done} {
			r, err := w.store.Get(t.Context(), w.ids[i])
			if err != nil || r.Fate != want || r.Index == nil || *r.Index != uint64(i) {
				t.Errorf("intent %d: %+v, error %v; want it %v with nonce %d", i, r, err, want, i)
			}
		}
	})
}
