package feed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/feed"
)

// follower takes the turns of one account.
type follower struct {
	mu    sync.Mutex
	turns []string
	last  chain.Block
	err   error
	leave context.CancelFunc
	over  chan struct{}
}

// follow follows the heads from a block on. It reads each applied block, and asks for the count.
func follow(t *testing.T, c chain.Chain, a chain.Account, from chain.Block) *follower {
	ctx, leave := context.WithCancel(t.Context())
	f := &follower{leave: leave, over: make(chan struct{}), last: from}
	go func() {
		defer close(f.over)
		for turn, err := range c.Heads(ctx, from) {
			if err == nil && turn.Kind == chain.Applied {
				if _, err := c.Inclusions(ctx, turn.Block, []chain.Account{a}); err != nil && ctx.Err() == nil {
					t.Errorf("block %d: %v", turn.Block.Number, err)
				}
				if _, err := c.Next(ctx, a); err != nil && ctx.Err() == nil {
					t.Errorf("count: %v", err)
				}
			}
			f.mu.Lock()
			f.err = err
			if first := turn.Kind == chain.Finalized && turn.Block.Number == 0; err == nil && !first { // block 0 is always final
				f.turns = append(f.turns, fmt.Sprintf("%v %d", turn.Kind, turn.Block.Number))
				if turn.Kind == chain.Applied {
					f.last = turn.Block
				}
			}
			f.mu.Unlock()
		}
	}()
	return f
}

// end makes the follower leave, and returns what it was told.
func (f *follower) end() (turns []string, err error) {
	f.leave()
	<-f.over
	return f.turns, f.err
}

func (f *follower) wants(t *testing.T, what, want string) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := fmt.Sprint(f.turns); got != want {
		t.Errorf("%s: told %s, want %s", what, got, want)
	}
	f.turns = nil
}

// counting is a chain that counts requests for next nonces, each of which takes a while.
type counting struct {
	*chaintest.Line
	requests atomic.Int64
}

func (c *counting) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	c.requests.Add(1)
	time.Sleep(10 * time.Millisecond) // virtual
	return make([]uint64, len(accounts)), ctx.Err()
}

// A hundred accounts ask for a block once, and for their counts in three requests; accounts that do not follow
// ask for nothing.
func TestAHundredAccountsAskAsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1})
		line := &counting{Line: node.Line()}
		f := feed.New(line)
		defer f.Close()
		var all []*follower
		var views []chain.Chain
		for i := range 100 {
			views = append(views, f.Of(chaintest.Address(fmt.Sprint(i))))
		}
		for i, view := range views {
			all = append(all, follow(t, view, chaintest.Address(fmt.Sprint(i)), chain.Block{}))
		}
		time.Sleep(time.Second)
		for range 5 {
			node.Mine()
			time.Sleep(time.Second)
		}
		for _, one := range all {
			if turns, _ := one.end(); fmt.Sprint(turns) != "[applied 0 applied 1 applied 2 applied 3 applied 4 applied 5]" {
				t.Fatalf("told %v", turns)
			}
		}
		if n := line.Calls("Inclusions"); n > 6 {
			t.Errorf("six blocks were read %d times", n)
		}
		if n := line.requests.Load(); n > 18 {
			t.Errorf("%d requests for counts after six blocks, want three each", n)
		}
		synctest.Wait()
		before := line.Calls("Heads")
		node.Mine()
		time.Sleep(time.Minute)
		if n := line.Calls("Heads"); n != before {
			t.Errorf("%d looks at the head although no account follows", n-before)
		}
	})
}

// A reader that comes later is brought to the head from where it was, on a dead branch too.
func TestLatecomers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1})
		f := feed.New(node.Line())
		defer f.Close()
		first := follow(t, f.Of(a), a, chain.Block{})
		first.wants(t, "first", "[applied 0]")
		node.Mine()
		node.Mine()
		first.wants(t, "first", "[applied 1 applied 2]")
		second := follow(t, f.Of(a), a, chain.Block{})
		second.wants(t, "from nowhere", "[applied 2]")
		_, _ = second.end()
		third := follow(t, f.Of(a), a, second.last)
		third.wants(t, "where it was", "[]")
		dead := second.last
		node.Reorg(1, nil, nil)
		third.wants(t, "a reorganisation", "[reverted 2 applied 2 applied 3]")
		fourth := follow(t, f.Of(a), a, dead)
		fourth.wants(t, "from a dead branch", "[reverted 2 applied 2 applied 3]")
		node.Finalize()
		fourth.wants(t, "final", "[finalized 3]")
		fifth := follow(t, f.Of(a), a, chain.Block{})
		fifth.wants(t, "from nowhere", "[applied 3 finalized 3]")
		sixth := follow(t, f.Of(a), a, chain.Block{Number: 2, Hash: "unheard of"})
		if synctest.Wait(); !errors.Is(sixth.err, chain.ErrThread) {
			t.Errorf("from a block that nobody knows: got error %v, want ErrThread", sixth.err)
		}
		node.Mine()
		fifth.wants(t, "after another's error", "[applied 4]")
		for _, one := range []*follower{first, third, fourth, fifth, sixth} {
			_, _ = one.end()
		}
	})
}

// An error of the stream is told to each reader. The first that comes back goes on where it was.
func TestAnErrorEndsAllReaders(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		one, two := follow(t, f.Of(a), a, chain.Block{}), follow(t, f.Of(a), a, chain.Block{})
		one.wants(t, "one", "[applied 0]")
		line.SetDown(true)
		node.Mine()
		for _, each := range []*follower{one, two} {
			if <-each.over; !errors.Is(each.err, chain.ErrUnreachable) {
				t.Errorf("got error %v, want ErrUnreachable", each.err)
			}
		}
		line.SetDown(false)
		node.Mine()
		again := follow(t, f.Of(a), a, one.last)
		again.wants(t, "back", "[applied 1 applied 2]")
		other := follow(t, f.Of(a), a, two.last)
		other.wants(t, "back later", "[applied 1 applied 2]")
		_, _ = again.end()
		node.Mine()
		other.wants(t, "after the one that began the stream has left", "[applied 3]")
		_, _ = other.end()
	})
}

// A reader that is slow holds up no other, and is told all turns in the end; one that is far behind loses its thread.
func TestASlowReader(t *testing.T) {
	t.Parallel()
	for blocks, lost := range map[int]bool{200: false, 1000: true} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1})
			f := feed.New(node.Line())
			defer f.Close()
			ctx, leave := context.WithCancel(t.Context())
			release, over := make(chan struct{}), make(chan struct{})
			told, err := 0, error(nil)
			go func() {
				defer close(over)
				for _, err = range f.Of(a).Heads(ctx, chain.Block{}) {
					told++
					<-release
				}
			}()
			quick := follow(t, f.Of(a), a, chain.Block{})
			quick.wants(t, "the other", "[applied 0]")
			for range blocks {
				node.Mine()
				synctest.Wait()
			}
			close(release)
			synctest.Wait()
			leave()
			<-over
			if thread := errors.Is(err, chain.ErrThread); thread != lost || !lost && told < blocks {
				t.Errorf("the slow one was told %d turns of %d blocks, and has the error %v; want that it lost its thread: %v", told, blocks, err, lost)
			}
			if turns, _ := quick.end(); len(turns) != blocks {
				t.Errorf("the other was told %d turns, want %d", len(turns), blocks)
			}
		})
	}
}
