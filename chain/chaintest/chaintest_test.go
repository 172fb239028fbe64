package chaintest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
)

const rich = 1_000_000_000_000_000_000

func fixture(testing.TB) chaintest.Fixture {
	f, _ := fixtureOf(chaintest.Config{Seed: 1})
	return f
}

func fixtureOf(cfg chaintest.Config) (chaintest.Fixture, *chaintest.Node) {
	node := chaintest.New(cfg)
	down := node.Line()
	down.SetDown(true)
	funded, poor := node.Account("funded", rich), node.Account("poor", 0)
	return chaintest.Fixture{
		Chain: node.Line(), Down: down,
		Funded: funded, Poor: poor, Stranger: chaintest.Address("stranger"),
		Bad: chain.Call{To: []byte("x"), Data: []byte("revert")}, BadGas: 50_000,
		Half:      chain.Call{To: []byte("x"), Data: []byte("half")},
		Mine:      func() { node.Mine() },
		Seal:      func(txs ...chain.Signed) { node.Seal(txs...) },
		Reorg:     node.Reorg,
		Drop:      func(h chain.Hash) { node.Drop(h) },
		Final:     node.Finalize,
		Foreign:   func(index uint64) chain.Signed { return node.Foreign(funded, index) },
		Elsewhere: func(index uint64) chain.Signed { return node.Elsewhere(funded, index) },
		Broke:     func() chain.Signed { return node.Foreign(poor, 0) },
		Forget:    node.Forget,
	}, node
}

// Z16: a raise is measured by the driver.
func TestExercise(t *testing.T) { chaintest.Exercise(t, fixture) }

// A chain on which attempts wear out is a chain like any other.
func TestExerciseWearing(t *testing.T) {
	chaintest.Exercise(t, func(testing.TB) chaintest.Fixture {
		f, node := fixtureOf(chaintest.Config{Seed: 1, Era: 64})
		f.Upgrade = func() { node.Upgrade("2") }
		return f
	})
}

// So is one without an index of transactions.
func TestExerciseNoIndex(t *testing.T) {
	chaintest.Exercise(t, func(testing.TB) chaintest.Fixture {
		f, _ := fixtureOf(chaintest.Config{Seed: 1, NoIndex: true})
		f.NoIndex = true
		return f
	})
}

// Z9: so is one on which accounts cease to exist.
func TestExerciseLives(t *testing.T) {
	chaintest.Exercise(t, func(testing.TB) chaintest.Fixture {
		f, node := fixtureOf(chaintest.Config{Seed: 1, Era: 64, NoIndex: true, Lives: true})
		f.NoIndex = true
		f.Upgrade = func() { node.Upgrade("2") }
		f.Reap, f.Fund = func() { node.Reap(f.Funded) }, func() { node.Fund(f.Funded, rich) }
		return f
	})
}

// So is one that another process serves.
func TestExerciseServed(t *testing.T) {
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		f, node := fixtureOf(chaintest.Config{Seed: 1, Era: 64, NoIndex: true, Lives: true})
		f.NoIndex = true
		f.Upgrade = func() { node.Upgrade("2") }
		f.Reap, f.Fund = func() { node.Reap(f.Funded) }, func() { node.Fund(f.Funded, rich) }
		served := func(c chain.Chain) chain.Chain {
			server := httptest.NewServer(chaintest.Serve(c.(*chaintest.Line)))
			remote := chaintest.Dial(server.URL)
			t.Cleanup(func() { remote.Close(); server.CloseClientConnections(); server.Close() })
			return remote
		}
		f.Chain, f.Down = served(f.Chain), served(f.Down)
		return f
	})
}

// Run makes blocks in virtual time.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Depth: 2})
		alice := node.Account("alice", rich)
		line := node.Line()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go node.Run(ctx, 12*time.Second)
		start := time.Now()
		all, err := line.Prepare(ctx, []chain.Draft{{Account: alice}})
		if err != nil || all[0].Err != nil {
			t.Fatal(err, all)
		}
		line.Submit(ctx, []chain.Signed{all[0].Signed})
		for turn, err := range line.Heads(ctx, chain.Block{}) {
			if err != nil {
				t.Fatal(err)
			}
			if turn.Kind == chain.Finalized && turn.Block.Number == 1 {
				break
			}
		}
		if took := time.Since(start); took != 36*time.Second {
			t.Errorf("block 1 was final after %v, want 36s, which is three blocks", took)
		}
	})
}

func prepared(t *testing.T, line *chaintest.Line, drafts ...chain.Draft) (all []chain.Signed) {
	t.Helper()
	got, err := line.Prepare(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		all = append(all, p.Signed)
	}
	return all
}

func where(t *testing.T, line *chaintest.Line, s chain.Signed) string {
	t.Helper()
	got, err := line.Probe(t.Context(), []chain.Hash{s.Hash})
	if err != nil {
		t.Fatal(err)
	}
	return got[0].String()
}

func verdict(t *testing.T, line *chaintest.Line, s chain.Signed) chain.Verdict {
	t.Helper()
	return line.Submit(t.Context(), []chain.Signed{s})[0].Verdict
}

func TestLostAnswerIsNotALostCall(t *testing.T) {
	node := chaintest.New(chaintest.Config{})
	alice := node.Account("alice", rich)
	line := node.Line()
	s := prepared(t, line, chain.Draft{Account: alice})[0]
	line.LoseCalls(1)
	if v := verdict(t, line, s); v != chain.Unknown {
		t.Errorf("the call was lost: got %v, want unknown", v)
	}
	line.LoseCalls(0)
	if w := where(t, line, s); w != "nowhere" {
		t.Errorf("the call was lost: the attempt is %v, want nowhere", w)
	}
	line.LoseNextAnswer("Submit")
	if v := verdict(t, line, s); v != chain.Unknown {
		t.Errorf("the answer was lost: got %v, want unknown", v)
	}
	if w := where(t, line, s); w != "pooled" {
		t.Errorf("only the answer was lost: the attempt is %v, want pooled", w)
	}
}

func TestSilentDropAndResurrection(t *testing.T) {
	node := chaintest.New(chaintest.Config{Pool: 2})
	alice := node.Account("alice", rich)
	line := node.Line()
	s := prepared(t, line, chain.Draft{Account: alice}, chain.Draft{Account: alice, Index: 1}, chain.Draft{Account: alice, Index: 2})
	for _, o := range line.Submit(t.Context(), s) {
		if o.Verdict != chain.Accepted {
			t.Errorf("got %v, want accepted: a full pool drops silently", o)
		}
	}
	if w := where(t, line, s[2]); w != "nowhere" {
		t.Errorf("the third attempt in a pool of two is %v, want nowhere", w)
	}
	node.Mine()
	node.Restart(1)
	if w := where(t, line, s[0]); w != "nowhere" {
		t.Errorf("the attempt of a block lost at a restart is %v, want nowhere", w)
	}
	if n, _ := line.Next(t.Context(), alice); n != 0 {
		t.Errorf("after the restart the next nonce is %d, want 0", n)
	}
	line.Submit(t.Context(), s[:2])
	node.Drop()
	node.Resurrect()
	if w := where(t, line, s[0]); w != "pooled" {
		t.Errorf("the resurrected attempt is %v, want pooled", w)
	}
}

func TestSpike(t *testing.T) {
	node := chaintest.New(chaintest.Config{BaseFee: 100})
	alice := node.Account("alice", rich)
	line := node.Line()
	s := prepared(t, line, chain.Draft{Account: alice})[0]
	node.SetBaseFee(100_000)
	if v := verdict(t, line, s); v != chain.Accepted {
		t.Errorf("an attempt below the base fee is %v, want accepted as in real pools", v)
	}
	node.Mine()
	if w := where(t, line, s); w != "pooled" {
		t.Errorf("the attempt below the base fee is %v, want pooled", w)
	}
	raised := prepared(t, line, chain.Draft{Account: alice, Above: s.Fee})[0]
	if v := verdict(t, line, raised); v != chain.Accepted {
		t.Errorf("the raised attempt is %v, want accepted", v)
	}
	node.Mine()
	if w := where(t, line, raised); w != "included" {
		t.Errorf("the raised attempt is %v, want included", w)
	}
}

// A node that was killed forgets blocks that it has reported; the line remembers them.
func TestFollowedThroughRestart(t *testing.T) {
	node := chaintest.New(chaintest.Config{})
	line := node.Line()
	follow := func(from chain.Block, turns int) (said string, last chain.Block) {
		for turn, err := range line.Heads(t.Context(), from) {
			if err != nil {
				return said + err.Error(), last
			}
			if turn.Kind != chain.Finalized {
				said, last = said+turn.Kind.String()+" ", turn.Block
				turns--
			}
			if turns == 0 {
				break
			}
		}
		return said, last
	}
	_, genesis := follow(chain.Block{}, 1)
	node.Mine()
	node.Mine()
	_, head := follow(genesis, 2)
	node.Restart(2)
	if said, last := follow(head, 2); said != "reverted reverted " || last.Number != 1 {
		t.Errorf("got %sdown to block %d, want reverted twice, down to block 1", said, last.Number)
	}
}

// One seed gives one history.
func TestSeedReplays(t *testing.T) {
	one, two := history(t, 3), history(t, 3)
	if one != two {
		t.Errorf("one seed gave two histories:\n%s\n%s", one, two)
	}
	if one == history(t, 4) {
		t.Error("two seeds gave one history")
	}
}

func history(t *testing.T, seed uint64) (said string) {
	node := chaintest.New(chaintest.Config{Seed: seed, PerAccount: 20})
	alice := node.Account("alice", rich)
	line := node.Line()
	r := rand.New(rand.NewPCG(seed, 9))
	index := uint64(0)
	for range 200 {
		line.LoseAnswers(0)
		s := prepared(t, line, chain.Draft{Account: alice, Index: index})[0]
		line.LoseAnswers(0.3)
		v := verdict(t, line, s)
		said += v.String() + " "
		if v == chain.Accepted || v == chain.Unknown {
			index++
		}
		if r.IntN(5) == 0 {
			said += node.Mine().Hash.String()
		}
	}
	return said
}

// A follower ends at the head, whatever faults the chain and the line had.
func TestHeadsUnderFaults(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) { followFaults(t, seed) })
	}
}

func followFaults(t *testing.T, seed uint64) {
	node := chaintest.New(chaintest.Config{Seed: seed, Depth: 3})
	line := node.Line()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var best []chain.Block
	go func() {
		for ctx.Err() == nil {
			last := chain.Block{}
			if len(best) > 0 {
				last = best[len(best)-1]
			}
			for turn, err := range line.Heads(ctx, last) {
				switch {
				case errors.Is(err, chain.ErrThread):
					best = nil // a restart reverted more than the follower has seen
				case err != nil:
				case turn.Kind == chain.Applied:
					best = append(best, turn.Block)
				case turn.Kind == chain.Reverted && len(best) > 0:
					best = best[:len(best)-1]
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	r := rand.New(rand.NewPCG(seed, 5))
	height := 0
	for range 100 {
		switch depth := r.IntN(1 + min(height, 6)); r.IntN(6) {
		case 0:
			node.Reorg(depth, make([][]chain.Signed, r.IntN(4))...)
		case 1:
			node.Restart(depth)
		case 2:
			line.SetDown(true)
		case 3:
			line.LoseAnswers(r.Float64())
		default:
			node.Mine()
		}
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		line.SetDown(false)
		head := headOf(t, node)
		height = int(head.Number)
	}
	line.LoseAnswers(0)
	want := node.Mine()
	time.Sleep(time.Minute)
	synctest.Wait()
	if len(best) == 0 || best[len(best)-1] != want {
		t.Fatalf("seed %d: the follower is at %v, the head is %v", seed, best[max(0, len(best)-1):], want)
	}
	for i := 1; i < len(best); i++ {
		if best[i].Parent != best[i-1].Hash {
			t.Fatalf("seed %d: %v does not follow %v", seed, best[i], best[i-1])
		}
	}
}

func headOf(t *testing.T, node *chaintest.Node) chain.Block {
	t.Helper()
	for turn, err := range node.Line().Heads(t.Context(), chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		return turn.Block
	}
	return chain.Block{}
}

// At an account's limit its highest nonce makes room for a lower one only, as in go-ethereum.
func TestAFullPoolTakesALowerNonce(t *testing.T) {
	node := chaintest.New(chaintest.Config{PerAccount: 2})
	alice := node.Account("alice", rich)
	line := node.Line()
	var all []chain.Signed
	for index := range uint64(4) {
		all = append(all, node.Foreign(alice, index))
	}
	for _, c := range []struct {
		index int
		want  chain.Verdict
	}{{1, chain.Accepted}, {2, chain.Accepted}, {3, chain.Full}, {0, chain.Accepted}} {
		if v := verdict(t, line, all[c.index]); v != c.want {
			t.Errorf("nonce %d is %v, want %v", c.index, v, c.want)
		}
	}
	node.Mine()
	if next, err := line.Next(t.Context(), alice); next != 2 || err != nil {
		t.Errorf("got next nonce %d, %v, want 2: nonces 0 and 1 executed, 2 dropped", next, err)
	}
}
