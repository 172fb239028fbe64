package pending_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

var seed = flag.Uint64("seed", 0, "run only the world with this seed")

// byDay is how many worlds of one kind a test has by day: twice as many with CONCH_WHOLE.
func byDay(worlds uint64) uint64 {
	if os.Getenv("CONCH_WHOLE") != "" {
		worlds *= 2
	}
	return worlds
}

// S15, S19, S20: leaders are killed, frozen and replaced while the chain loses answers,
// transactions and blocks. By the chain's blocks alone, each intent is carried out once.
func TestWorlds(t *testing.T) {
	t.Parallel()
	runWorlds(t, chaintest.Config{})
}

// Z4, Z5: the same, on a chain whose attempts wear out while its runtime is upgraded, sometimes on one branch alone, and the node bans
// some.
func TestWearingWorlds(t *testing.T) {
	t.Parallel()
	runWorlds(t, chaintest.Config{Era: 24})
}

// The same without an index of transactions.
func TestWorldsWithoutAnIndex(t *testing.T) {
	t.Parallel()
	runWorlds(t, chaintest.Config{Era: 24, NoIndex: true})
}

// Z6, Z7, Z8: the same, while the account is reaped and funded again, and everybody sends again what was ever signed.
func TestLivingWorlds(t *testing.T) {
	t.Parallel()
	runWorlds(t, livingChain)
}

var livingChain = chaintest.Config{Era: 24, NoIndex: true, Lives: true}

// Z4: in world 1452 the chain goes back while a pad is signed anew, so that the same bytes come out as two attempts before. They were stored once more,
// and sent without end.
func TestBytesThatComeOutAgain(t *testing.T) {
	t.Parallel()
	runWorld(t, 1452, livingChain)
}

func runWorlds(t *testing.T, of chaintest.Config) {
	t.Helper()
	worlds := byDay(12)
	if os.Getenv("CONCH_NIGHTLY") != "" {
		worlds = 1500
	}
	if testing.Short() {
		worlds = 6
	}
	if *seed != 0 {
		runWorld(t, *seed, of)
		return
	}
	for s := range worlds {
		if ok := t.Run(fmt.Sprint(s+1), func(t *testing.T) {
			t.Parallel()
			runWorld(t, s+1, of)
		}); !ok {
			t.Logf("to repeat: go test -run %s -seed %d ./pending", strings.Split(t.Name(), "/")[0], s+1)
		}
	}
}

func runWorld(t *testing.T, seed uint64, of chaintest.Config) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { newWorld(t, seed, of).live() })
}

type world struct {
	t     *testing.T
	rand  *rand.Rand
	node  *chaintest.Node
	judge *chaintest.Line
	store *faultyStore
	from  chain.Account

	epoch   int64
	writes  *pending.Sequence // of the newest leader's process
	leaders []*leader
	lines   []*chaintest.Line
	ids     []pending.ID
	alarms  map[pending.Cause]int
	foreign map[chain.Hash]bool
	forget  atomic.Bool
	peak    int  // the greatest height so far
	unreal  bool // final blocks can be taken back
	era     uint64
	lives   bool // the account can be reaped
	relaxed bool // intents pass one that cannot be paid yet
	few     bool // leaders have few slots in memory
	mu      sync.Mutex
}

type leader struct {
	kill   func()
	killed atomic.Bool
	done   chan struct{}
	watch  *watch
}

func newWorld(t *testing.T, seed uint64, of chaintest.Config) *world {
	of.Seed, of.Depth, of.BlockGas, of.PerAccount, of.Pool = seed, depth, 25*21_500, 64, 200
	w := &world{
		t: t, era: of.Era, lives: of.Lives, rand: rand.New(rand.NewPCG(seed, 7)), unreal: seed%4 == 0 && !of.Lives, relaxed: seed%3 == 1, few: seed%5 != 0, alarms: map[pending.Cause]int{}, foreign: map[chain.Hash]bool{},
		node: chaintest.New(of),
	}
	w.from = w.node.Account("sender", dear-1)
	w.judge = w.node.Line()
	w.store = &faultyStore{Memory: &pending.Memory{Fence: w.fence}, rand: rand.New(rand.NewPCG(seed, 9)), wait: w.wait}
	return w
}

func (w *world) fence(t fence.Token) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.Epoch != w.epoch {
		return fence.ErrStale
	}
	return nil
}

// live runs the world: trouble for a while, then none, then the verdict.
func (w *world) live() {
	ctx, end := context.WithCancel(w.t.Context())
	defer end()
	mining := make(chan struct{})
	go func() {
		defer close(mining)
		w.node.Run(ctx, time.Second)
	}()
	w.promote(ctx)
	for range 60 {
		time.Sleep(time.Duration(w.rand.IntN(1500)) * time.Millisecond) // virtual
		w.accept(w.rand.IntN(6))
		w.trouble(ctx)
		w.wear()
	}
	w.heal(ctx)
	deadline := time.Now().Add(30 * time.Minute)
	for !w.settled() && time.Now().Before(deadline) {
		time.Sleep(time.Second)
	}
	for _, l := range w.leaders {
		l.kill()
		<-l.done
	}
	end()
	<-mining
	w.verdict()
}

// wait lets virtual time pass: a world runs in a synctest bubble.
func (w *world) wait(d time.Duration) { time.Sleep(d) }

// dear is a value that the account cannot pay before heal.
const dear = 1 << 56

// accept accepts intents. Some are refused by the chain, and in relaxed order some cannot be paid yet.
func (w *world) accept(n int) {
	for range n {
		key := fmt.Sprint(len(w.ids))
		call := chain.Call{To: []byte("somebody"), Data: []byte("intent " + key)}
		switch w.rand.IntN(40) {
		case 0:
			call.Data = []byte("revert " + key)
		case 1:
			if w.relaxed {
				call.Value = big.NewInt(dear)
			}
		}
		in, err := w.store.Accept(w.t.Context(), pending.Intent{Account: w.from, Key: key, Call: call})
		if err != nil {
			w.t.Fatal(err)
		}
		w.ids = append(w.ids, in.ID)
	}
}

// promote starts a new leader in a new term. The previous one is not told.
func (w *world) promote(ctx context.Context) {
	w.mu.Lock()
	w.epoch++
	w.mu.Unlock()
	w.writes = new(pending.Sequence)
	w.lead(ctx)
}

const scope = "sender"

// bubbleClock follows a bubble's virtual time. The boot clock does not: it hardly moves in an hour
// of the bubble, in which nothing would ever be tried again.
func bubbleClock() fence.Instant { return fence.Instant(time.Since(time.Unix(0, 0))) }

// lead starts a leader in the current term.
func (w *world) lead(ctx context.Context) {
	w.mu.Lock()
	token := fence.Token{Scope: scope, Epoch: w.epoch, Holder: fmt.Sprint("node ", w.epoch), Term: fence.Term{byte(w.epoch)}}
	w.mu.Unlock()
	gate, latch := fence.New(scope, bubbleClock)
	latch.Open(token, 0, bubbleClock().Add(1000*time.Hour))
	line := w.node.Line()
	node := &forgetful{Chain: line, rand: rand.New(rand.NewPCG(w.rand.Uint64(), 3)), forget: &w.forget}
	seen := &watch{wait: w.wait}
	cfg := pending.Config{
		Account: w.from, Chain: watchedChain{node, seen}, Store: watchedStore{w.store, seen}, Sequence: w.writes, Clock: seen.clock,
		Relaxed: w.relaxed, MaxInFlight: 30, MaxBatch: 10, FillAfter: 8, RestoreWait: time.Minute,
		Events: pending.Events{Alarm: func(a pending.Alarm) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.alarms[a.Cause]++
		}},
	}
	if w.few {
		cfg = cfg.Holding(3, 3, 1+w.rand.IntN(3), 1)
		cfg.FinalAfter = time.Duration(w.rand.IntN(3)) * time.Second // 1 and 2: slots come back while their block can be taken back
	}
	m, err := pending.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	led, kill := context.WithCancel(ctx)
	l := &leader{done: make(chan struct{}), watch: seen}
	l.kill = func() {
		l.killed.Store(true)
		kill()
	}
	go func() {
		defer close(l.done)
		_ = m.Lead(led, gate, token)
	}()
	w.leaders = append(w.leaders, l)
	w.lines = append(w.lines, line)
}

func (w *world) settled() bool {
	for _, r := range w.store.Records() {
		if r.Fate == pending.Open {
			return false
		}
	}
	return true
}

// verdict reads the chain: each intent must be there once, and every hash must have been stored.
func (w *world) verdict() {
	stored := map[chain.Hash]chain.Signed{}
	for _, a := range w.store.AllAttempts(w.from) {
		stored[a.Hash] = a
	}
	done := map[string]int{}
	if w.lives {
		done = carriedOut(w.t, w.judge, w.from, w.store.AllAttempts(w.from))
	} else {
		w.countNonces(done, stored)
	}
	w.judgeIntents(done)
}

// countNonces counts how often each call was carried out. Each nonce must be in a block.
func (w *world) countNonces(done map[string]int, stored map[chain.Hash]chain.Signed) {
	ctx := w.t.Context()
	included := map[uint64]chain.Inclusion{}
	all, _, err := w.judge.Scan(ctx, w.head(), w.from, 0, math.MaxInt32)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range all {
		included[one.Index] = one
	}
	next, err := w.judge.Next(ctx, w.from)
	if err != nil {
		w.t.Fatal(err)
	}
	for index := range next {
		in, there := included[index]
		if !there {
			w.t.Fatalf("nonce %d is in no block", index)
		}
		a, ours := stored[in.Hash]
		if !ours && !w.foreign[in.Hash] {
			w.t.Errorf("the transaction with nonce %d was never stored", index)
		}
		if !ours {
			continue
		}
		var tx struct{ Data []byte }
		if err := json.Unmarshal(a.Bytes, &tx); err != nil {
			w.t.Fatal(err)
		}
		if !a.Filler {
			done[string(tx.Data)]++
		}
	}
}

// judgeIntents judges what is said of the intents, given how often each was carried out.
func (w *world) judgeIntents(done map[string]int) {
	for i, l := range w.leaders {
		if fault := l.watch.found(); fault != "" {
			w.t.Errorf("leader %d: %s", i+1, fault)
		}
	}
	if w.store.again {
		w.t.Error("a slot was to be stored anew although its row was known to exist")
	}
	if w.store.early {
		w.t.Error("a dead slot has ended in a life that went on: the next leader does not see that it was over")
	}
	if w.alarms[pending.Disagree] > 0 && !w.unreal {
		w.t.Errorf("%d alarms say that witnesses disagree, of whom none lies", w.alarms[pending.Disagree])
	}
	cancelled, told := 0, w.unreal && w.alarms[pending.Rewound] > 0
	for i, r := range w.store.Records() {
		n := done[string(r.Call.Data)]
		want := 1
		if r.Fate == pending.Rejected && strings.HasPrefix(string(r.Call.Data), "revert") || r.Cancel && r.Fate == pending.Cancelled {
			want = 0
			cancelled++
		}
		if told && n != want {
			continue // final blocks were taken back: it could not be known, and an alarm was raised
		}
		if n != want || want == 1 && r.Fate != pending.Done {
			w.t.Errorf("intent %d was carried out %d times, want %d; its fate is %s (nonce %v, %+v, %+v)", i, n, want, r.Fate, r.Index, r.Last, r.Refusal)
		}
	}
	if len(w.ids) == 0 || len(done)+cancelled != len(w.ids) && !told && !w.t.Failed() {
		w.t.Errorf("%d intents, %d done, %d cancelled", len(w.ids), len(done), cancelled)
	}
}
