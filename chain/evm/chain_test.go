package evm_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/evm"
)

func TestExerciseHTTP(t *testing.T) {
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		n := startNode(t)
		return fixtureOf(t, n, n.HTTP)
	})
}

func TestExerciseWebSocket(t *testing.T) {
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		n := startNode(t)
		return fixtureOf(t, n, n.WS)
	})
}

// With Config.Depth the depth decides what is final.
func TestFinalByDepth(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	k := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{k}, Depth: 2})
	d, err := c.Describe(t.Context())
	if err != nil || d.Depth != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	send(t, c, prepared(t, c, chain.Draft{Account: k.Account()}), chain.Accepted)
	final := make(chan chain.Block)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		defer close(final)
		for turn, err := range c.Heads(ctx, chain.Block{}) {
			if err != nil {
				return
			}
			if turn.Kind == chain.Finalized && turn.Block.Number == 2 {
				final <- turn.Block
				return
			}
		}
	}()
	for range 3 {
		n.mine()
	}
	if b := <-final; b.Number != 2 {
		t.Errorf("got final %v, want block 2", b)
	}
	// A new follower, such as a successor, gets the final block at once.
	for turn, err := range open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Depth: 2}).Heads(ctx, chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Finalized {
			if turn.Block.Number != 2 {
				t.Errorf("got final %v, want block 2", turn.Block)
			}
			break
		}
	}
}

// A subscription wakes Heads long before the poll.
func TestTimedBlocks(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--block-time", "50ms")
	c := open(t, evm.Config{URL: n.WS, ChainID: n.ChainID, Poll: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	blocks := 0
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Applied {
			blocks++
		}
		if blocks > 5 {
			break
		}
	}
}

// S20: after a node was killed the driver reports its older head and its empty pool.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	dir, listen := t.TempDir(), keptAddress(t)
	n := startNode(t, "--datadir", dir, "--listen", listen)
	k := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{k}})
	first := headOf(t, c, chain.Block{})
	mined := prepared(t, c, chain.Draft{Account: k.Account()}, chain.Draft{Account: k.Account(), Index: 1})
	send(t, c, mined, chain.Accepted)
	n.mine()
	pooled := prepared(t, c, chain.Draft{Account: k.Account(), Index: 2})
	send(t, c, pooled, chain.Accepted)
	head := headOf(t, c, first)

	n.kill()
	if o := c.Submit(t.Context(), pooled); o[0].Verdict != chain.Unknown {
		t.Errorf("the node is dead: got %v, want unknown", o[0])
	}
	n = startNode(t, "--datadir", dir, "--listen", listen)
	next, err := c.Next(t.Context(), k.Account())
	if err != nil {
		t.Fatal(err)
	}
	if next == 2 {
		t.Skip("the node had stored its head before it was killed")
	}
	var turns []chain.TurnKind
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for turn, err := range c.Heads(ctx, head) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Reverted && turn.Block == head {
			turns = append(turns, turn.Kind)
			break
		}
	}
	if len(turns) == 0 {
		t.Error("the block that the node lost was not reverted")
	}
	for _, s := range append(mined, pooled...) {
		if w := where(t, c, s); w != "nowhere" {
			t.Errorf("after the node was killed nonce %d is %v, want nowhere", s.Index, w)
		}
	}
	send(t, c, append(mined, pooled...), chain.Accepted)
	n.mine()
	if next, err := c.Next(t.Context(), k.Account()); next != 3 || err != nil {
		t.Errorf("the same bytes sent again: got next nonce %d, %v, want 3", next, err)
	}
}

// A node that ends on SIGTERM keeps its chain.
func TestStoppedNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, "--datadir", dir)
	k := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{k}})
	send(t, c, prepared(t, c, chain.Draft{Account: k.Account()}), chain.Accepted)
	n.mine()
	n.end(syscall.SIGTERM)
	n = startNode(t, "--datadir", dir)
	c = open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID})
	if next, err := c.Next(t.Context(), k.Account()); next != 1 || err != nil {
		t.Errorf("after a stop: got next nonce %d, %v, want 1", next, err)
	}
}

// A draft without funds uses no nonce, and succeeds once the account is funded.
func TestFundsCome(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	poor := evm.NewKeystore(newKey(t))
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{poor}})
	draft := chain.Draft{Account: poor.Account(), Call: chain.Call{To: []byte(poor.Account())}}
	all, err := c.Prepare(t.Context(), []chain.Draft{draft})
	if err != nil {
		t.Fatal(err)
	}
	wraps(t, all[0].Err, chain.ErrFunds)
	n.call(nil, "dev_fund", poor.Account(), "0x3b9aca00")
	sent := prepared(t, c, draft)
	send(t, c, sent, chain.Accepted)
	n.mine()
	if w := where(t, c, sent[0]); w != "included" {
		t.Errorf("with funds the attempt is %v, want included", w)
	}
}

// A small pool accepts attempts and drops them. Only a probe finds that out.
func TestSilentDrop(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--pool", "64")
	k := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{k}})
	var drafts []chain.Draft
	for i := range uint64(400) {
		drafts = append(drafts, chain.Draft{Account: k.Account(), Index: i})
	}
	attempts := prepared(t, c, drafts...)
	accepted, gone := map[int]bool{}, 0
	for i, o := range c.Submit(t.Context(), attempts) {
		if accepted[i] = o.Verdict == chain.Accepted; !accepted[i] && o.Verdict != chain.Full && o.Verdict != chain.FeeTooLow {
			t.Fatalf("attempt %d: got %v, want accepted, full or fee too low", i, o)
		}
	}
	n.mine()
	for i, s := range attempts {
		if accepted[i] && where(t, c, s) == "nowhere" {
			gone++
		}
	}
	if gone == 0 {
		t.Errorf("a pool of 64 kept all of %d attempts, want some accepted ones dropped", len(accepted))
	}
	t.Logf("%d accepted of %d attempts were dropped", gone, len(accepted))
}

func TestForeignChain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	k := evm.NewKeystore(n.key)
	c := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID + 1, Signers: []evm.Signer{k}})
	_, err := c.Describe(t.Context())
	wraps(t, err, chain.ErrForeign)
	_, err = c.Next(t.Context(), k.Account())
	wraps(t, err, chain.ErrForeign)
	if o := c.Submit(t.Context(), []chain.Signed{foreign(t, n.key, n.ChainID, 0)}); o[0].Verdict != chain.Refused {
		t.Errorf("on the wrong chain: got %v, want refused", o[0])
	}
	n.mine()
	right := open(t, evm.Config{URL: n.HTTP, ChainID: n.ChainID})
	if next, err := right.Next(t.Context(), k.Account()); next != 0 || err != nil {
		t.Errorf("after a Submit to the wrong chain: got next nonce %d, %v, want 0", next, err)
	}
}

// The node ends with its parent.
func TestOrphan(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--parent", "1") // not its parent
	if code := n.life.Wait(patience); code != 0 {
		t.Errorf("an orphan ended with code %d, want 0", code)
	}
	if os.Getppid() == 1 {
		t.Skip("this test is the child of process 1")
	}
}

func prepared(t testing.TB, c chain.Chain, drafts ...chain.Draft) (attempts []chain.Signed) {
	t.Helper()
	for i := range drafts {
		if drafts[i].Call.To == nil {
			drafts[i].Call.To = []byte(drafts[i].Account)
		}
	}
	all, err := c.Prepare(context.Background(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		attempts = append(attempts, p.Signed)
	}
	return attempts
}

func send(t testing.TB, c chain.Chain, attempts []chain.Signed, want chain.Verdict) {
	t.Helper()
	for i, o := range c.Submit(context.Background(), attempts) {
		if o.Verdict != want {
			t.Fatalf("attempt %d: got %v (%s), want %v", i, o.Verdict, o.Text, want)
		}
	}
}

func where(t testing.TB, c chain.Chain, s chain.Signed) string {
	t.Helper()
	seen, err := c.Probe(context.Background(), []chain.Hash{s.Hash})
	if err != nil {
		t.Fatal(err)
	}
	return seen[0].String()
}

// headOf returns the first block applied after a block, or the head after the zero Block.
func headOf(t testing.TB, c chain.Chain, after chain.Block) chain.Block {
	t.Helper()
	for turn, err := range c.Heads(context.Background(), after) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Kind == chain.Applied {
			return turn.Block
		}
	}
	return chain.Block{}
}

func wraps(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want one that wraps %q", err, want)
	}
}
