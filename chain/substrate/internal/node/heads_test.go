package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/trie"
)

// follower reads turns one by one.
type follower struct {
	t    *testing.T
	pull func() (chain.Turn, error, bool)
	stop func()
	last chain.Block // the last one applied
}

func follow(t *testing.T, v *node.View, from chain.Block) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(brief(t))
	pull, end := iter.Pull2(v.Heads(ctx, from))
	w := &follower{t: t, pull: pull, stop: func() { cancel(); end() }}
	t.Cleanup(w.stop)
	return w
}

// wants reads turns until there are so many, such as "+3 -3 +3 f2": applied, reverted, final.
func (w *follower) wants(want string) {
	w.t.Helper()
	var got []string
	for range strings.FieldsSeq(want) {
		turn, err, more := w.pull()
		if err != nil || !more {
			w.t.Fatalf("got %v, then %v, want %s", got, err, want)
		}
		got = append(got, fmt.Sprintf("%c%d", "+-f"[turn.Kind], turn.Block.Number))
		if turn.Kind == chain.Applied {
			w.last = turn.Block
		}
		if !strings.HasPrefix(turn.By, "ws://127.0.0.1") {
			w.t.Errorf("by %q", turn.By)
		}
	}
	if text := strings.Join(got, " "); text != want {
		w.t.Fatalf("got %s, want %s", text, want)
	}
}

// Blocks that come, go and become final, with a subscription alone and by asking alone; finality may skip blocks, and lag.
func TestHeads(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		f := newFake(t)
		f.deaf = deaf
		w := follow(t, f.view(), chain.Block{})
		w.wants("+0 f0")
		f.mine()
		w.wants("+1")
		f.do(func() { f.add(trie.V0, 1); f.add(trie.V0, 1); f.add(trie.V0, 1) })
		w.wants("+2 +3 +4")
		f.reorg(2, 3)
		w.wants("-4 -3 +3 +4 +5")
		f.do(func() { f.final = 4 })
		w.wants("f4")
		f.reorg(1, 0)
		w.wants("-5")
		f.mine()
		w.wants("+5")
		if w.last != f.head().Block {
			t.Errorf("the last block is %v, want %v", w.last, f.head().Block)
		}
	}
}

// Z19: a subscription that was made, and is silent, is no reason to see nothing.
func TestASilentSubscription(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	w := follow(t, f.view(func(cfg *node.Config) { cfg.Poll, cfg.Anyway = time.Hour, 5*time.Millisecond }), chain.Block{})
	w.wants("+0 f0")
	f.mine() // which wakes the follower, should it not have heard yet that there is a subscription
	w.wants("+1")
	for n := 2; n < 5; n++ { // one of them may be seen for what was told before
		f.mu.Lock()
		clear(f.subs)
		f.add(trie.V0, 1)
		f.mu.Unlock()
		w.wants(fmt.Sprintf("+%d", n))
	}
}

// A successor goes on where it was, also on a branch that is dead by then and that the endpoint has forgotten.
func TestResume(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	v := f.view()
	f.mine()
	w := follow(t, v, chain.Block{})
	w.wants("+1 f0")
	f.mine()
	w.wants("+2")
	w.stop()
	dead := w.last
	f.reorg(1, 2)
	f.do(func() { delete(f.known, dead.Hash) })
	w = follow(t, v, dead)
	w.wants("-2 +2 +3 f0")
	for _, err := range v.Heads(brief(t), chain.Block{Number: 2, Hash: chain.Hash(strings.Repeat("x", 32)), Parent: chain.Hash(strings.Repeat("y", 32))}) {
		if !errors.Is(err, chain.ErrThread) {
			t.Errorf("from a block that nobody knows: %v", err)
		}
		return
	}
}

// W4: one of several nodes behind the endpoint is behind; that is no reorganisation.
func TestABackendThatIsBehind(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.deaf = true
	old := f.mine()
	f.mine()
	w := follow(t, f.view(), chain.Block{})
	w.wants("+2 f0")
	looks := 0
	f.do(func() {
		f.answer = func(method string, params []json.RawMessage, honest any) any {
			if method == "chain_getHeader" && len(params) == 0 {
				if looks++; looks%3 > 0 {
					return json.RawMessage(old.header)
				}
			}
			return honest
		}
	})
	for n := 3; n < 6; n++ {
		f.mine()
		w.wants(fmt.Sprintf("+%d", n))
	}
}

// W1: a block is an ancestor by the hashes of headers alone, whatever the endpoint says of numbers; and a thousand headers take few calls
// that wait for one another.
func TestLinked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 250 {
		f.add(trie.V0, 1)
	}
	dead := f.head().Block
	f.reorg(3, 5)
	ask := []chain.Block{f.best[0].Block, f.best[7].Block, dead, {Number: 7, Hash: f.best[8].Hash}, f.head().Block, {Number: 900, Hash: dead.Hash}}
	want := []bool{true, true, false, false, true, false}
	v := f.view()
	got, err := v.Linked(brief(t), chain.Block{Number: 252, Hash: f.head().Hash}, ask)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if n := f.calls("chain_getBlockHash"); n != 4 { // one of them to greet
		t.Errorf("asked %d times for hashes, want 4", n)
	}
	asked := f.calls("chain_getHeader")
	if got, err = v.Linked(brief(t), f.head().Block, ask); err != nil || !slices.Equal(got, want) || f.calls("chain_getHeader") != asked {
		t.Errorf("asked again: got %v, %v, and what is proven was asked for again", got, err)
	}
	lies := f.view()
	f.do(func() { // by number it shows another branch
		f.answer = func(method string, params []json.RawMessage, honest any) any {
			if all, is := honest.([]any); is && method == "chain_getBlockHash" {
				for i := range all {
					all[i] = dead.Hash
				}
			}
			return honest
		}
	})
	if got, err := lies.Linked(brief(t), f.head().Block, ask); err != nil || !slices.Equal(got, want) {
		t.Errorf("of one that lies by number: got %v, %v, want %v", got, err, want)
	}
	if _, err := v.Linked(brief(t), chain.Block{Number: 9, Hash: chain.Hash(strings.Repeat("x", 32))}, ask); !errors.Is(err, chain.ErrThread) {
		t.Errorf("of a block that nobody knows: %v", err)
	}
	line, err := v.LineTo(brief(t), f.head().Block, 248, 250)
	if err != nil || len(line) != 3 || line[0] != f.best[248].Block || line[2] != f.best[250].Block {
		t.Errorf("got the line %v, %v", line, err)
	}
}
