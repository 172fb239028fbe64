package electiontest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pause"
)

// await waits for the end of a process and sends the time at which it was seen.
func (x *exercise) await(process int64) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		for {
			gone, err := x.mint.Wait(x.Context(), process)
			if x.Context().Err() != nil {
				return
			}
			if err != nil {
				x.Errorf("wait: %v", err)
				return
			}
			if gone {
				ended <- time.Now()
				return
			}
		}
	}()
	return ended
}

// quickly is the limit for seeing the end of a process, which takes milliseconds unless the
// machine is busy. It is below the five seconds for which one call of Wait may block.
const quickly = 4 * time.Second

func (x *exercise) wakes(ended <-chan time.Time, since time.Time) {
	x.Helper()
	select {
	case at := <-ended:
		if took := at.Sub(since); took < 0 || took > quickly {
			x.Errorf("the end was seen %s after it came: too early or too late", took)
		}
	case <-time.After(quickly):
		x.Error("the end was not seen in time")
	}
}

// F4: the end of a process, of whatever kind, wakes its waiters.
func waitSeesTheEnd(x *exercise) {
	for _, end := range []func(mint.Session){
		func(s mint.Session) { x.h.Kill(x.T, x.mint, s) },
		func(s mint.Session) { _ = s.Close() },
	} {
		a := x.open("a")
		x.want(x.succeed(a, mint.Bid{Scope: "s", Lease: medium}), mint.Won)
		ended := x.await(a.Process())
		select {
		case <-ended:
			x.Fatal("a living process counts as gone")
		case <-time.After(300 * time.Millisecond):
		}
		x.beat(a) // the wait does not disturb it
		since := time.Now()
		end(a)
		x.wakes(ended, since)
		// A process that has ended before is seen at once.
		x.within(quickly, "waiting for a dead process", func(ctx context.Context) {
			if gone, err := x.mint.Wait(ctx, a.Process()); !gone || err != nil {
				x.Errorf("gone %v, %v; want true", gone, err)
			}
		})
	}
}

// All waiters of a process wake at once, not one after the other.
func waitersWakeTogether(x *exercise) {
	a, other := x.open("a"), x.open("b")
	first, second, third := x.await(a.Process()), x.await(a.Process()), x.await(other.Process())
	_ = pause.For(x.Context(), 200*time.Millisecond)
	since := time.Now()
	x.h.Kill(x.T, x.mint, a)
	x.wakes(first, since)
	x.wakes(second, since)
	select {
	case <-third:
		x.Error("the end of one process woke the waiter for another")
	default:
	}
}

func waitEndsWithContext(x *exercise) {
	a := x.open("a")
	ctx, cancel := context.WithTimeout(x.Context(), 200*time.Millisecond)
	defer cancel()
	x.within(quickly, "the end of a wait", func(context.Context) {
		if gone, err := x.mint.Wait(ctx, a.Process()); gone || err == nil {
			x.Errorf("gone %v, %v after the context ended, want an error", gone, err)
		}
	})
	x.beat(a)
}

// listener collects the changes that Listen hears.
type listener struct {
	mu    sync.Mutex
	heard []mint.Change
}

func (l *listener) has(c mint.Change) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.heard, c)
}

// listen starts Listen and returns at its zero Change: changes before that may be missed.
func (x *exercise) listen() *listener {
	x.Helper()
	e := &listener{}
	ctx, cancel := context.WithCancel(x.Context())
	over := make(chan error, 1)
	go func() {
		over <- x.mint.Listen(ctx, func(c mint.Change) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard = append(e.heard, c)
		})
	}()
	x.Cleanup(func() {
		cancel()
		select {
		case err := <-over:
			if err == nil {
				x.Error("Listen ended without an error")
			}
		case <-time.After(soon):
			x.Error("Listen does not end with its context")
		}
	})
	x.until("Listen sends the zero Change", soon, func() bool { return e.has(mint.Change{}) })
	return e
}

// S7: all listeners hear of acquisitions and releases.
func listenHears(x *exercise) {
	e, f := x.listen(), x.listen()
	a := x.open("a")
	t := x.win(a, "s", medium).Token
	for _, l := range []*listener{e, f} {
		x.until("the acquisition is heard", soon, func() bool {
			return l.has(mint.Change{Scope: "s", Holder: "a", Epoch: t.Epoch})
		})
		if l.has(mint.Change{Scope: "s", Epoch: t.Epoch}) {
			x.Error("a release was heard before there was one")
		}
	}
	x.release(a, mint.Farewell{Token: t, Released: true})
	for _, l := range []*listener{e, f} {
		x.until("the release is heard", soon, func() bool {
			return l.has(mint.Change{Scope: "s", Epoch: t.Epoch})
		})
	}
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	if err := x.mint.Listen(ctx, func(mint.Change) {}); err == nil || errors.Is(err, mint.ErrSessionLost) {
		x.Errorf("Listen under an ended context: %v, want its error", err)
	}
}
