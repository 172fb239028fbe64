//go:build unix

package transactions

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

const (
	livingEra   = 24 // blocks
	livingDepth = 4  // blocks
	livingBlock = 150 * time.Millisecond
)

// living is a run of real nodes on a chain whose attempts wear out, and whose accounts cease to exist.
type living struct {
	*livingProcesses
	judge *chaintest.Line // an endpoint without faults
	store *pgstore.Store
	miner *pgx.Conn
	rand  *rand.Rand
	seed  uint64

	making   sync.Mutex  // a block
	stalls   atomic.Bool // blocks are empty
	replays  atomic.Bool // after each block everybody sends what was ever signed
	replayed atomic.Int64
	heights  atomic.Uint64
	fault    atomic.Pointer[error] // of what runs beside the test

	mu    sync.Mutex
	asked map[string]string // the data of each intent that was acknowledged, by its key

	kills, branches int // leaders that were killed, and branches that have died
	lives           uint64
}

func newLiving(t *testing.T, seed uint64) *living {
	t.Helper()
	c := chaintest.New(chaintest.Config{Seed: seed, Era: livingEra, Depth: livingDepth, NoIndex: true, Lives: true, BlockGas: 25 * 21_500, PerAccount: 64, Pool: 200})
	if from := c.Account("payer", 1<<60); from != livingAccount.Address {
		t.Fatal("the chain has another account of that name")
	}
	l := &living{
		livingProcesses: newLivingProcesses(t, c, "n1", "n2", "n3"), judge: c.Line(),
		seed: seed, rand: rand.New(rand.NewPCG(seed, 3)), asked: map[string]string{},
	}
	l.miner = l.db.Connect(t)
	db, err := pgstore.Open(t.Context(), l.db.Config(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l.store = db.Store(livingAccount.Chain.ID(), "judge")
	return l
}

// beside runs something until the returned function is called.
func (l *living) beside(do func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := do(ctx); err != nil && ctx.Err() == nil {
			l.fault.Store(&err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		pgtest.Within(l.t, nodetest.Patience, "what runs beside the test ends", func() { <-ended })
	})
	l.t.Cleanup(stop)
	return stop
}

// mine makes blocks.
func (l *living) mine(ctx context.Context) error {
	for tick := time.NewTicker(livingBlock); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		l.between(func() {
			if l.stalls.Load() {
				l.chain.Seal()
			} else {
				l.chain.Mine()
			}
		})
		if l.replays.Load() {
			all, err := attemptsIn(ctx, l.miner)
			if err != nil {
				return err
			}
			l.judge.Submit(ctx, all)
			l.replayed.Add(1)
		}
	}
}

// between does something while no block is made but by it, and returns how many there are then.
func (l *living) between(do func()) uint64 {
	l.making.Lock()
	defer l.making.Unlock()
	do()
	return l.heights.Add(1)
}

// passes waits for some blocks.
func (l *living) passes(blocks uint64) {
	l.t.Helper()
	to := l.heights.Load() + blocks
	pgtest.Eventually(l.t, nodetest.Patience, "blocks are made", func() bool {
		if err := l.fault.Load(); err != nil {
			l.t.Fatal(*err)
		}
		return l.heights.Load() >= to
	})
}

// attemptsIn returns all that was ever signed, as the database has it.
func attemptsIn(ctx context.Context, conn *pgx.Conn) (all []chain.Signed, err error) {
	rows, err := conn.Query(ctx, `SELECT nonce, n, hash, signed, filler, coalesce(version, '') FROM conch.pending_attempts ORDER BY nonce, n`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one := chain.Signed{Account: livingAccount.Address}
		var n int
		var hash []byte
		if err := rows.Scan(&one.Index, &n, &hash, &one.Bytes, &one.Filler, &one.Version); err != nil {
			return nil, err
		}
		one.Hash = chain.Hash(hash)
		all = append(all, one)
	}
	return all, rows.Err()
}

// ask asks for transactions, in each block for a few, at any node, until each is acknowledged.
func (l *living) ask(ctx context.Context) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	dice := rand.New(rand.NewPCG(l.seed, 4))
	for n := 0; ctx.Err() == nil; n++ {
		for height := l.heights.Load(); n%3 == 0 && l.heights.Load() == height && ctx.Err() == nil; {
			_ = pause.For(ctx, livingBlock/10)
		}
		key, data := fmt.Sprint("k", n), fmt.Sprint([...]string{"intent ", "half ", "revert ", "intent ", "intent ", "intent "}[n%6], n)
		body, err := json.Marshal(map[string]any{
			"account": livingAccount.Name, "to": chaintest.Address("somebody").String(), "value": "1", "data": "0x" + hex.EncodeToString([]byte(data)),
			"gas": 22_000, "idempotency_key": key,
		})
		if err != nil {
			return err
		}
		for done := false; !done && ctx.Err() == nil; {
			if done, err = l.asks(ctx, client, dice, body); err != nil {
				return err
			}
		}
		if ctx.Err() == nil {
			l.mu.Lock()
			l.asked[key] = data
			l.mu.Unlock()
		}
	}
	return nil
}

// asks asks one node, and reports whether it has acknowledged.
func (l *living) asks(ctx context.Context, client *http.Client, dice *rand.Rand, body []byte) (done bool, err error) {
	all := l.all()
	if len(all) == 0 {
		return false, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, all[dice.IntN(len(all))].api, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return false, nil // it was killed: another one is asked
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= 400 && answer.StatusCode < 500 {
		return false, fmt.Errorf("a node answers with %s", answer.Status)
	}
	return answer.StatusCode < 300, nil
}

// troubles are what happens to the chain and to its leaders, under load.
var troubles = map[string]func(l *living){
	"a runtime is upgraded while transactions wait, and the leader is killed before its bytes leave": func(l *living) {
		l.stalls.Store(true)
		l.passes(livingDepth)
		l.between(func() {
			l.chain.Upgrade(fmt.Sprint("upgrade ", l.heights.Load()))
			l.chain.Seal()
		})
		l.stalls.Store(false)
		l.ambush(true)
		l.kills++
		l.passes(2 * livingDepth)
	},
	"a branch with an upgrade dies, and the leader is killed before the answer": func(l *living) {
		l.stalls.Store(true)
		l.passes(livingDepth)
		upgraded := l.between(func() {
			l.chain.Upgrade(fmt.Sprint("branch ", l.heights.Load()))
			l.chain.Seal()
		})
		l.passes(1)
		l.between(func() {
			if depth := l.heights.Load() - upgraded + 1; depth < livingDepth { // on a slow machine it may be final
				l.chain.Reorg(int(depth), make([][]chain.Signed, depth+1)...)
				l.branches++
			}
		})
		l.stalls.Store(false)
		l.ambush(false)
		l.kills++
		l.passes(2 * livingDepth)
	},
	"an era is over while nothing gets into a block, and the leader freezes": func(l *living) {
		l.stalls.Store(true)
		l.passes(livingEra / 2)
		l.freeze()
		l.passes(livingEra)
		l.stalls.Store(false)
		l.passes(livingDepth)
	},
	"the account is reaped while its transactions wait, and the leader is killed": func(l *living) {
		l.stalls.Store(true)
		l.passes(livingEra / 3)
		l.replays.Store(true)
		l.between(func() {
			l.chain.Reap(livingAccount.Address)
			l.chain.Seal()
		})
		l.lives++
		one, epoch := l.leader(0)
		one.Kill()
		l.kills++
		l.chain.Fund(livingAccount.Address, 1<<60)
		l.stalls.Store(false)
		l.bury(one)
		l.leader(epoch)
		pgtest.Eventually(l.t, nodetest.Patience, "the next life begins", func() bool { return l.life() == l.lives })
		l.passes(livingEra)
		l.replays.Store(false)
	},
}

// Z3, Z4, Z5, Z6, Z8, Z10: real nodes over a real database send from an account of a chain that another process serves, while that is upgraded,
// forks, lets eras pass and reaps the account, and leaders are killed and frozen. Everybody may send old bytes again. By the chain's blocks
// alone each intent is carried out once, and what is said of its end is true.
func TestChaosOfALivingAccount(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if runtest.Nightly() {
		seed = rand.Uint64()
	}
	if text := os.Getenv("CONCH_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("CONCH_SEED=%d go test -race -run %s ./cmd/conch/internal/service/transactions", seed, t.Name())
	l := newLiving(t, seed)
	l.beside(l.mine)
	l.leader(0)
	stop := l.beside(l.ask)
	l.passes(2 * livingDepth)
	pgtest.Eventually(t, nodetest.Patience, "the account's pad is behind it, and transactions are under way", func() bool { return l.count(pending.Done) > 0 })
	rounds := 1
	if runtest.Whole() {
		rounds = runtest.ByDay(3, 15)
	}
	for range rounds {
		names := slices.Sorted(maps.Keys(troubles))
		for _, i := range l.rand.Perm(len(names)) {
			t.Log("block", l.heights.Load(), names[i])
			troubles[names[i]](l)
		}
	}
	stop()
	pgtest.Eventually(t, 3*nodetest.Patience, "all have ended", func() bool { return l.count(pending.Open) == 0 })
	l.judgeAll()
}

// life returns how often the account has begun anew, as the nodes say.
func (l *living) life() uint64 {
	l.t.Helper()
	if err := l.fault.Load(); err != nil {
		l.t.Fatal(*err)
	}
	now, err := l.store.Life(l.t.Context(), livingAccount.Address)
	if err != nil {
		l.t.Fatal(err)
	}
	return now.Number
}

// count returns how many intents have a fate.
func (l *living) count(fate pending.Fate) (n int) {
	l.t.Helper()
	if err := l.fault.Load(); err != nil {
		l.t.Fatal(*err)
	}
	all, err := l.store.List(l.t.Context(), pending.Filter{Most: math.MaxInt32, Bytes: math.MaxInt32})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range all {
		if r.Fate == fate {
			n++
		}
	}
	return n
}

// judgeAll compares what the chain has with what is said.
func (l *living) judgeAll() {
	l.t.Helper()
	stored, err := attemptsIn(l.t.Context(), l.conn)
	if err != nil {
		l.t.Fatal(err)
	}
	in, done := l.inclusions(stored)
	all, err := l.store.List(l.t.Context(), pending.Filter{Most: math.MaxInt32, Bytes: math.MaxInt32})
	if err != nil {
		l.t.Fatal(err)
	}
	records := map[string]pending.Record{}
	for _, r := range all {
		records[r.Key] = r
	}
	for key, data := range l.asked {
		r := records[key]
		if n := len(done[data]); n != 1 {
			l.t.Errorf("%q was carried out %d times (%+v), want once; %s, nonce %v from %d", data, n, done[data], r.Fate, r.Index, r.First)
			continue
		}
		if one := in[done[data][0]]; r.Fate != pending.Done || r.Last.Block.Hash != one.Block.Hash || r.Last.Hash != one.Hash || r.Last.Effect != one.Effect {
			l.t.Errorf("of %q is said %s, in block %v as %v; the chain has it in %v as %v", data, r.Fate, r.Last.Block, r.Last.Effect, one.Block, one.Effect)
		}
	}
	for _, r := range records {
		if n := len(done[string(r.Call.Data)]); n != 1 { // also one whose acknowledgement was lost
			l.t.Errorf("%q was carried out %d times", r.Call.Data, n)
		}
	}
	l.judgeTrouble(stored)
	l.t.Logf("%d intents, %d attempts, %d blocks, %d lives, %d leaders killed, %d branches dead; %d times everybody sent everything", len(records), len(stored), l.heights.Load(), l.lives+1, l.kills, l.branches, l.replayed.Load())
}

// judgeTrouble checks that the run has had what it is for.
func (l *living) judgeTrouble(stored []chain.Signed) {
	l.t.Helper()
	if n := l.life(); n != l.lives {
		l.t.Errorf("the account has begun anew %d times, and was reaped %d times", n, l.lives)
	}
	versions, eras := 0, 0
	for i, one := range stored[1:] {
		switch before := stored[i]; {
		case one.Index != before.Index || one.Filler || before.Filler:
		case one.Version != before.Version:
			versions++
		default:
			eras++
		}
	}
	if versions == 0 || eras == 0 || l.kills == 0 || l.replayed.Load() == 0 {
		l.t.Errorf("%d attempts were signed anew for another version, %d for another reason, %d leaders killed, %d replays; want some of each", versions, eras, l.kills, l.replayed.Load())
	}
}

// inclusions returns what the chain has of the account by its hash, and the hashes of each call, fillers left out. All must have been stored.
func (l *living) inclusions(stored []chain.Signed) (in map[chain.Hash]chain.Inclusion, done map[string][]chain.Hash) {
	l.t.Helper()
	head, err := l.judge.Tip(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	all, _, err := l.judge.Scan(l.t.Context(), head, livingAccount.Address, 0, math.MaxInt32)
	if err != nil {
		l.t.Fatal(err)
	}
	in, done = map[chain.Hash]chain.Inclusion{}, map[string][]chain.Hash{}
	for _, one := range all {
		if one.Reaped {
			continue
		}
		at := slices.IndexFunc(stored, func(a chain.Signed) bool { return a.Hash == one.Hash })
		if at < 0 {
			l.t.Fatalf("the transaction with nonce %d in block %d was never stored", one.Index, one.Block.Number)
		}
		var tx struct{ Data []byte }
		if err := json.Unmarshal(stored[at].Bytes, &tx); err != nil {
			l.t.Fatal(err)
		}
		if in[one.Hash] = one; !stored[at].Filler {
			done[string(tx.Data)] = append(done[string(tx.Data)], one.Hash)
		}
	}
	return in, done
}
