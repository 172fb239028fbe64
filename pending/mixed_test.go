package pending_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// W1, W2, W3: behind an endpoint, or each of two, stand nodes of which one stays behind and one is on a dead branch for
// ever, in whose blocks another holder of the key has taken nonces; one answer is a lie; leaders change. By the surviving
// chain alone, each intent is carried out once, and what the store calls done is there.
func TestMixedBackends(t *testing.T) {
	t.Parallel()
	worlds := byDay(20)
	if os.Getenv("CONCH_NIGHTLY") != "" {
		worlds = 2000
	}
	if testing.Short() {
		worlds = 8
	}
	for s := range worlds {
		if *seed != 0 && s+1 != *seed {
			continue
		}
		if ok := t.Run(fmt.Sprint(s+1), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { (&mixedWorld{T: t, rand: rand.New(rand.NewPCG(s+1, 11))}).live(s + 1) })
		}); !ok {
			t.Logf("to repeat: go test -run TestMixedBackends -seed %d ./pending", s+1)
		}
	}
}

type mixedWorld struct {
	*testing.T
	rand  *rand.Rand
	node  *chaintest.Node
	store *pending.Memory
	from  chain.Account
	chain chain.Chain
	epoch int64
	kill  func()
	done  chan struct{}
	few   bool // leaders have few slots in memory
	watch watch
}

func (w *mixedWorld) live(seed uint64) {
	w.few, w.watch.wait = seed%3 != 0, time.Sleep
	w.node = chaintest.New(chaintest.Config{Seed: seed, Depth: depth})
	w.from = w.node.Account("sender", 1<<60)
	w.store = &pending.Memory{Fence: func(t fence.Token) error {
		if t.Epoch != w.epoch {
			return fence.ErrStale
		}
		return nil
	}}
	ctx, end := context.WithCancel(w.Context())
	defer end()
	for range w.rand.IntN(4) {
		w.node.Mine()
	}
	dead := w.node.Fork()
	behind := w.node.Fork()
	w.chain = &liar{Chain: chaintest.NewMixed(seed, w.node.Line(), w.node.Line(), dead.Line(), behind.Line()), left: 1, rand: rand.New(rand.NewPCG(seed, 12))}
	if seed%2 == 0 {
		other := chaintest.NewMixed(seed+1, w.node.Line(), w.node.Line(), dead.Line())
		set, err := endpoints.New(endpoints.Config{Endpoints: []endpoints.Endpoint{{Name: "one", Chain: w.chain}, {Name: "other", Chain: other}}})
		if err != nil {
			w.Fatal(err)
		}
		defer set.Close()
		w.chain = set
	}
	mining := make(chan struct{})
	go func() {
		defer close(mining)
		w.node.Run(ctx, time.Second)
	}()
	w.lead(ctx)
	stranger := uint64(0)
	for i := range 8 {
		if _, err := w.store.Accept(ctx, pending.Intent{Account: w.from, Key: fmt.Sprint(i), Call: chain.Call{To: []byte("x"), Data: fmt.Append(nil, i)}}); err != nil {
			w.Fatal(err)
		}
		lull := 2500
		if seed%2 == 0 {
			lull = 20_000 // so long that the account rests now and then
		}
		time.Sleep(time.Duration(w.rand.IntN(lull)) * time.Millisecond) // virtual
		switch w.rand.IntN(4) {
		case 0:
			dead.Seal(dead.Foreign(w.from, stranger))
			stranger++
		case 1:
			dead.Mine() // of what it was sent
			stranger = dead.Sent(w.from)
		case 2:
			w.kill()
			<-w.done
			w.lead(ctx)
		}
		if i == 4 {
			for range w.rand.IntN(12) {
				dead.Seal()
			}
		}
	}
	w.finish(ctx, end, mining)
}

// finish waits until every intent is done, and compares with the surviving chain.
func (w *mixedWorld) finish(ctx context.Context, end func(), mining chan struct{}) {
	deadline := time.Now().Add(3 * time.Hour)
	for open := true; open && time.Now().Before(deadline); {
		time.Sleep(time.Second)
		open = false
		for _, r := range w.store.Records() {
			open = open || r.Fate == pending.Open
		}
	}
	w.kill()
	<-w.done
	placed := w.placed(ctx)
	end()
	<-mining
	if fault := w.watch.found(); fault != "" {
		w.Error(fault)
	}
	for i, r := range w.store.Records() {
		if n := placed[fmt.Sprint(i)]; n != 1 || r.Fate != pending.Done {
			w.Errorf("intent %d is %d times in the surviving chain, and its fate is %s (%+v), want once and done", i, n, r.Fate, r.Last)
		}
	}
}

// placed counts the intents' calls in the surviving chain.
func (w *mixedWorld) placed(ctx context.Context) map[string]int {
	judge := w.node.Line()
	var head chain.Block
	for turn, err := range judge.Heads(ctx, chain.Block{}) {
		if err != nil {
			w.Fatal(err)
		}
		head = turn.Block
		break
	}
	all, _, err := judge.Scan(ctx, head, w.from, 0, math.MaxInt32)
	if err != nil {
		w.Fatal(err)
	}
	bytes := map[chain.Hash][]byte{}
	for _, a := range w.store.AllAttempts(w.from) {
		if !a.Filler {
			bytes[a.Hash] = a.Bytes
		}
	}
	counts := map[string]int{}
	for _, one := range all {
		var tx struct{ Data []byte }
		if raw := bytes[one.Hash]; raw != nil && json.Unmarshal(raw, &tx) == nil {
			counts[string(tx.Data)]++
		}
	}
	return counts
}

// liar is an endpoint that lies once: it links a block of any branch, agrees with anything, counts too many nonces, or
// is of another chain.
type liar struct {
	chain.Chain
	mu   sync.Mutex
	left int
	rand *rand.Rand
}

func (l *liar) lies() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lies := l.left > 0 && l.rand.IntN(3) == 0
	if lies {
		l.left--
	}
	return lies
}

func (l *liar) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	linked, err := l.Chain.Linked(ctx, of, blocks)
	if err == nil && slices.Contains(linked, false) && l.lies() {
		for i := range linked {
			linked[i] = true
		}
	}
	return linked, err
}

func (l *liar) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	opinions, err := l.Chain.Confirm(ctx, claims)
	differs := slices.ContainsFunc(opinions, func(o chain.Opinion) bool { return o.Stand == chain.Differs })
	if err == nil && differs && l.lies() {
		for i := range opinions {
			opinions[i].Stand = chain.Agrees
		}
	}
	return opinions, err
}

func (l *liar) Describe(ctx context.Context) (chain.Description, error) {
	d, err := l.Chain.Describe(ctx)
	if err == nil && l.lies() {
		err = chain.ErrForeign
	}
	return d, err
}

func (l *liar) Next(ctx context.Context, a chain.Account) (uint64, error) {
	n, err := l.Chain.Next(ctx, a)
	if err == nil && n%5 == 4 && l.lies() {
		n += 20
	}
	return n, err
}

func (w *mixedWorld) lead(ctx context.Context) {
	w.epoch++
	token := fence.Token{Scope: scope, Epoch: w.epoch, Term: fence.Term{byte(w.epoch)}}
	gate, latch := fence.New(scope, bubbleClock)
	latch.Open(token, 0, bubbleClock().Add(10_000*time.Hour))
	cfg := pending.Config{
		Account: w.from, Chain: watchedChain{w.chain, &w.watch}, Store: watchedStore{w.store, &w.watch}, Clock: w.watch.clock, MaxInFlight: 8, MaxBatch: 4, FillAfter: 8, RejectAfter: time.Second,
	}
	if w.few {
		cfg = cfg.Holding(2, 2, 1+w.rand.IntN(2), 1)
		cfg.FinalAfter = time.Duration(w.rand.IntN(3)) * time.Second
	}
	m, err := pending.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	led, kill := context.WithCancel(ctx)
	w.kill, w.done = kill, make(chan struct{})
	done := w.done
	go func() {
		defer close(done)
		for led.Err() == nil { // a node begins anew after an error, such as that of another chain
			_ = m.Lead(led, gate, token)
			time.Sleep(time.Second) // virtual
		}
	}()
}
