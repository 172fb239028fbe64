//go:build unix

package main_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// starves makes blocks without its transactions, in which the price rises, until the chain's node has a dearer attempt for the first nonce.
func (d *devnode) starves(t *testing.T, db *pgtest.DB) {
	t.Helper()
	blocks := time.NewTicker(100 * time.Millisecond)
	defer blocks.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		tries := attempts(t, db)[0]
		if len(tries) > 1 && d.call("eth_getTransactionByHash", tries[len(tries)-1]) != nil {
			return
		}
		select {
		case <-blocks.C:
			d.call("dev_burn", hexed(1)) // what waits is raised only while the price rises
		case <-deadline.C:
			t.Fatalf("the attempts are %v, want a dearer one", tries)
		}
	}
}

// Two leaders: the first is stopped while its bytes are under way. Its successor sends them, then
// dearer ones, and new intents. Then the old bytes arrive late, and the first goes on. (S15)
func TestTwoLeaders(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	proxy, late := newHoldingProxy(t, chain, db.URL), make(chan struct{})
	stopped := proxy.keepUntil(false, late)
	one := senderAt(t, "n1", db.URL, proxy.url, "").leads(1)
	two := senderAt(t, "n2", db.URL, newHoldingProxy(t, chain, db.URL).url, "")
	two.says("leadership following", "scope", accountScope)
	many := callersOf(t, one)
	many.wants(0, 1)
	happens(t, "signed bytes are on their way", stopped)
	many.wants(1, 10) // these wait for the answer
	pgtest.Eventually(t, patience, "all are signed and stored", func() bool { return len(attempts(t, db)) == 10 })
	if err := one.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	two.leads(2)
	more := callersOf(t, two)
	more.wants(10, 20)
	chain.starves(t, db)
	signed := attempts(t, db)

	following, sent := one.count("leadership following"), len(proxy.passed()) // more than one on a busy machine
	close(late)
	if err := one.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, patience, "the first follows", func() bool { return one.count("leadership following") > following })
	chain.buries(db.URL)
	asked := many.acknowledged()
	maps.Copy(asked, more.acknowledged())
	judge(t, chain, db.URL, asked)
	if n := len(proxy.passed()); n != sent && one.count("leadership acquired") == 1 { // unless it has led again
		t.Errorf("the first leader sent %d transactions after it was deposed, want none", n-sent)
	}
	if chain.history()[0].Hash == signed[0][0] {
		t.Error("the late and cheaper attempt is in the chain, want the dearer one")
	}
}

// slowStore is a store whose writes can be delayed.
type slowStore struct {
	pending.Store
	writing *sync.RWMutex
	slow    chan struct{} // closed: writes wait until done is closed
	done    chan struct{}
}

func (s slowStore) Write(ctx context.Context, token fence.Token, b pending.Batch) error {
	s.writing.RLock()
	defer s.writing.RUnlock()
	select {
	case <-s.slow:
		s.writing.RUnlock()
		defer s.writing.RLock()
		select {
		case <-s.done:
			return s.Store.Write(ctx, token, b)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
		return s.Store.Write(ctx, token, b)
	}
}

// slowDown delays new writes, and returns once all earlier ones have ended.
func (s slowStore) slowDown() {
	close(s.slow)
	s.writing.Lock()
	defer s.writing.Unlock()
}

// Sending needs only the fenced door, which depends on no clock. Here a deposed leader's gate
// never shuts. What it sends again, the chain takes once; what it signs anew, the database
// refuses to store, so that it is never sent. (S15)
func TestADeposedLeaderIsHarmless(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	proxy := newHoldingProxy(t, chain, db.URL)
	old, token, depose := blindLeader(t, db, proxy.url)
	ctx, cancel := context.WithTimeout(t.Context(), longPatience)
	defer cancel()
	gate, latch := fence.New(token.Scope, nil)
	latch.Open(token, 0, math.MaxInt64)
	ended := make(chan error, 1)
	go func() { ended <- old.manager.Lead(ctx, gate, token) }()

	border2 := newHoldingProxy(t, chain, db.URL)
	two := senderAt(t, "n2", db.URL, border2.url, "")
	two.says("leadership following", "scope", accountScope)
	many := callersOf(t, two)
	many.wants(0, 10)
	pgtest.Eventually(t, patience, "the node has all of them", func() bool {
		return chain.call("eth_getTransactionCount", fundedAddress, "pending") == "0xa"
	})
	old.store.slowDown()
	successor := make(chan struct{})
	border2.keepUntil(false, successor)
	depose()
	two.leads(2)
	before := len(proxy.passed())
	chain.call("dev_drop", []string{}) // so that a leader must send again; the successor is held
	pgtest.Eventually(t, patience, "the deposed leader sends again", func() bool { return len(proxy.passed()) > before })
	close(successor)
	chain.starves(t, db)
	signed := attempts(t, db)
	close(old.store.done)
	pgtest.Within(t, patience, "the deposed leader ends", func() {
		if err := <-ended; !errors.Is(err, fence.ErrStale) {
			t.Errorf("the deposed leader ended with %v, want ErrStale", err)
		}
	})
	for nonce, hashes := range attempts(t, db) {
		if len(hashes) < len(signed[nonce]) {
			t.Errorf("nonce %d has the attempts %v, want no fewer than %v", nonce, hashes, signed[nonce])
		}
	}
	chain.buries(db.URL)
	judge(t, chain, db.URL, many.acknowledged())
}

// The gate is asked before each batch: one that shuts while a batch is under way keeps the next
// back, and so does one that another term has opened. (S15, S17)
func TestTheGateIsAskedBeforeEachBatch(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	proxy, late := newHoldingProxy(t, chain, db.URL), make(chan struct{})
	stopped := proxy.keepUntil(false, late)
	leader, token, depose := blindLeader(t, db, proxy.url)
	gate, latch := fence.New(token.Scope, nil)
	latch.Open(token, 0, math.MaxInt64)
	ctx, cancel := context.WithTimeout(t.Context(), longPatience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- leader.manager.Lead(ctx, gate, token) }()

	many := callersOf(t, senderAt(t, "n2", db.URL, chain.url, ""))
	many.wants(0, 1)
	happens(t, "signed bytes are on their way", stopped)
	many.wants(1, 10)
	pgtest.Eventually(t, patience, "all are signed and stored", func() bool { return len(attempts(t, db)) == 10 })
	latch.Suspend()
	close(late)
	pgtest.Eventually(t, patience, "sends are refused", func() bool { return leader.refused.Load() > 1 || len(proxy.passed()) > 1 })
	another := token
	another.Epoch, another.Term = token.Epoch+1, [16]byte{1}
	latch.Open(another, 0, math.MaxInt64)
	pgtest.Within(t, patience, "it ends under another's token", func() {
		if err := <-ended; !errors.Is(err, fence.ErrStale) {
			t.Errorf("under another term's token Lead ended with %v, want ErrStale", err)
		}
	})
	if n := len(proxy.passed()); n != 1 {
		t.Errorf("%d transactions were sent, want the one from before the gate shut", n)
	}
	depose()
	judge(t, chain, db.URL, many.acknowledged())
}

type blind struct {
	manager *pending.Manager
	store   slowStore
	refused *atomic.Int64
}

// blindLeader mints a token for the account and makes a manager that uses it. The returned
// function ends the mint's session.
func blindLeader(t *testing.T, db *pgtest.DB, url string) (blind, fence.Token, func()) {
	t.Helper()
	minter, err := pgmint.New(pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(minter.Close)
	session, err := minter.Open(t.Context(), mint.Candidate{
		ID: "blind", Lease: time.Minute, Longest: time.Minute, Takeover: mint.Strict, Scopes: []string{accountScope},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	won, err := session.Try(t.Context(), []mint.Bid{{Scope: accountScope, Lease: time.Minute}})
	if err != nil || won[0].Outcome != mint.Won {
		t.Fatalf("%+v, %v", won, err)
	}
	d := prepareDaemon(t, "blind", db.URL, "")
	_ = accountAt(d, url, 1337, "") // for its files
	key, err := evm.OpenKeystore(filepath.Join(d.dir, "key.json"), filepath.Join(d.dir, "password"))
	if err != nil {
		t.Fatal(err)
	}
	driver, err := evm.New(evm.Config{URL: url, ChainID: 1337, Depth: 2, Signers: []evm.Signer{key}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(driver.Close)
	base, err := pgstore.Open(t.Context(), pg.Config{URL: db.URL}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(base.Close)
	store := slowStore{Store: base.Store("evm:1337", "blind"), writing: new(sync.RWMutex), slow: make(chan struct{}), done: make(chan struct{})}
	refused := new(atomic.Int64)
	m, err := pending.New(pending.Config{RaiseAfter: 500 * time.Millisecond,
		Account: key.Account(), Chain: driver, Store: store, Events: pending.Events{Refused: func(error) { refused.Add(1) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return blind{m, store, refused}, won[0].Token, func() { _ = session.Close() }
}
