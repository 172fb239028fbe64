package feed_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/feed"
)

// a is the account of all readers.
var a = chaintest.Address("a")

// shared does something with the feed of one line, in a bubble.
func shared(t *testing.T, do func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1})
		line := node.Line()
		f := feed.New(line)
		defer f.Close()
		do(t, node, line, f)
	})
}

// The first reader that comes back is behind another one: that one is told of no reorganisation, as there was none.
func TestOneAheadOfTheFirst(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		var at []chain.Block
		one := follow(t, f.Of(a), a, chain.Block{})
		synctest.Wait()
		for range 4 {
			at = append(at, node.Mine())
			synctest.Wait()
		}
		node.Finalize()
		synctest.Wait()
		line.SetDown(true)
		node.Mine()
		<-one.over
		line.SetDown(false)
		line.Delay(50 * time.Millisecond)
		behind := follow(t, f.Of(a), a, at[0]) // told block 1 last
		synctest.Wait()
		ahead := follow(t, f.Of(a), a, at[3]) // told block 4 last
		time.Sleep(5 * time.Second)
		ahead.wants(t, "ahead", "[finalized 4 applied 5]")
		behind.wants(t, "behind", "[applied 2 applied 3 applied 4 finalized 4 applied 5]")
		_, _ = behind.end()
		_, _ = ahead.end()
	})
}

// The first reader that comes back knows no block: the others are led on from where they were, as the driver would.
func TestTheFirstComesFromNowhere(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		one := follow(t, f.Of(a), a, chain.Block{})
		one.wants(t, "one", "[applied 0]")
		line.SetDown(true)
		node.Mine()
		<-one.over
		node.Mine()
		line.SetDown(false)
		fresh := follow(t, f.Of(a), a, chain.Block{}) // an account that wakes
		synctest.Wait()
		back := follow(t, f.Of(a), a, one.last)
		synctest.Wait()
		if errors.Is(back.err, chain.ErrThread) {
			t.Errorf("lost its thread over two blocks: %v", back.err)
		}
		_, _ = fresh.end()
		_, _ = back.end()
		// the driver itself:
		direct := follow(t, line, a, one.last)
		direct.wants(t, "the driver", "[applied 1 applied 2]")
		_, _ = direct.end()
	})
}

// The first reader goes on from the head, and no block comes: a new one is told the head all the same.
func TestAHeadWithoutANewBlock(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		one := follow(t, f.Of(a), a, chain.Block{})
		synctest.Wait()
		node.Mine()
		synctest.Wait()
		line.SetDown(true)
		node.Finalize() // wakes it
		select {
		case <-one.over:
		case <-time.After(time.Minute):
			t.Fatal("no error")
		}
		line.SetDown(false)
		back := follow(t, f.Of(a), a, one.last)
		synctest.Wait()
		fresh := follow(t, f.Of(a), a, chain.Block{})
		time.Sleep(time.Hour)
		fresh.wants(t, "after an hour", "[applied 1 finalized 1]")
		_, _ = back.end()
		_, _ = fresh.end()
	})
}

// Each reader that comes back is told of the final block.
func TestAFinalBlockIsToldToEach(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		one, two := follow(t, f.Of(a), a, chain.Block{}), follow(t, f.Of(a), a, chain.Block{})
		synctest.Wait()
		line.SetDown(true)
		node.Mine()
		<-one.over
		<-two.over
		node.Finalize()
		line.SetDown(false)
		back := follow(t, f.Of(a), a, one.last)
		back.wants(t, "first", "[applied 1 finalized 1]")
		second := follow(t, f.Of(a), a, two.last)
		time.Sleep(time.Hour)
		second.wants(t, "second, after an hour", "[applied 1 finalized 1]")
		_, _ = back.end()
		_, _ = second.end()
	})
}

// A reader at a block that nobody knows loses its thread, and no other one does.
func TestAnothersThread(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, node *chaintest.Node, line *chaintest.Line, f *feed.Feed) {
		one := follow(t, f.Of(a), a, chain.Block{})
		synctest.Wait()
		good := node.Mine()
		synctest.Wait()
		_, _ = one.end()
		line.Delay(50 * time.Millisecond)
		bad := follow(t, f.Of(a), a, chain.Block{Number: 1, Hash: "unheard of"})
		synctest.Wait()
		other := follow(t, f.Of(a), a, good)
		time.Sleep(time.Second)
		synctest.Wait()
		if errors.Is(other.err, chain.ErrThread) {
			t.Errorf("the other one: %v", other.err)
		}
		_, _ = bad.end()
		_, _ = other.end()
	})
}

// picky answers with an error if one of the accounts is bad.
type picky struct{ *chaintest.Line }

func (p picky) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	time.Sleep(10 * time.Millisecond)
	if slices.Contains(accounts, "bad") {
		return nil, chain.ErrAnswer
	}
	return make([]uint64, len(accounts)), nil
}

// An account about which there is no answer takes none from the others.
func TestOneBadAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(picky{chaintest.New(chaintest.Config{Seed: 1}).Line()})
		defer f.Close()
		failed := 0
		over := make(chan bool)
		defer func() { <-over }()
		go func() {
			defer close(over)
			for range 100 {
				_, _ = f.Of("bad").Next(t.Context(), "bad")
			}
		}()
		for range 50 {
			if _, err := f.Of("good").Next(t.Context(), "good"); err != nil {
				failed++
			}
		}
		if failed > 0 {
			t.Errorf("%d of 50 counts of the good account failed", failed)
		}
	})
}

// slowCounts gives eight counts a second.
type slowCounts struct{ *chaintest.Line }

func (p slowCounts) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	for range accounts {
		select {
		case <-time.After(time.Second / 8):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return make([]uint64, len(accounts)), nil
}

// On a small budget each of many accounts has its answers in turn.
func TestCountsOnASmallBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(slowCounts{chaintest.New(chaintest.Config{Seed: 1}).Line()})
		defer f.Close()
		ok := make(chan bool, 1<<20)
		ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
		defer end()
		for i := range 500 {
			a := chain.Account(fmt.Sprint(i))
			view := f.Of(a)
			go func() {
				for ctx.Err() == nil {
					_, err := view.Next(ctx, a)
					ok <- err == nil
					time.Sleep(250 * time.Millisecond)
				}
			}()
		}
		<-ctx.Done()
		time.Sleep(time.Second)
		n, all := 0, 0
		for len(ok) > 0 {
			if all++; <-ok {
				n++
			}
		}
		if n < 4500 {
			t.Errorf("%d of %d counts were answered in ten minutes, want nearly the 4800 that the budget allows", n, all)
		}
	})
}

// endless has a stream of heads that ends without an error.
type endless struct{ *chaintest.Line }

func (endless) Heads(context.Context, chain.Block) iter.Seq2[chain.Turn, error] {
	return func(func(chain.Turn, error) bool) {}
}

// A stream that ends without an error is one that fails.
func TestAStreamThatEndsInSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(endless{chaintest.New(chaintest.Config{Seed: 1}).Line()})
		defer f.Close()
		one := follow(t, f.Of(a), a, chain.Block{})
		select {
		case <-one.over:
		case <-time.After(time.Hour):
			t.Error("the reader waits for ever")
		}
		_, _ = one.end()
	})
}

// mute never answers.
type mute struct{ *chaintest.Line }

func (mute) Describe(ctx context.Context) (chain.Description, error) {
	<-ctx.Done()
	return chain.Description{}, ctx.Err()
}

func (mute) Counts(ctx context.Context, _ []chain.Account) ([]uint64, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// W17: a caller whose time is over before there is an answer is told that the endpoint does not answer: a bare deadline
// may be anybody's, and a database would be blamed for it. One that hangs up blames nobody.
func TestALateAnswerIsTheEndpointsFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(mute{chaintest.New(chaintest.Config{Seed: 1}).Line()})
		defer f.Close()
		for what, ask := range map[string]func(context.Context) error{
			"count":       func(ctx context.Context) error { _, err := f.Of(a).Next(ctx, a); return err },
			"description": func(ctx context.Context) error { _, err := f.Of(a).Describe(ctx); return err },
		} {
			late, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := ask(late); !errors.Is(err, chain.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: after a second got error %v, want ErrUnreachable", what, err)
			}
			cancel()
			gone, leave := context.WithCancel(t.Context())
			leave()
			if err := ask(gone); !errors.Is(err, context.Canceled) || errors.Is(err, chain.ErrUnreachable) {
				t.Errorf("%s: a caller that hung up got error %v, want Canceled alone", what, err)
			}
		}
	})
}
