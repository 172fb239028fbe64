package chaintest

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain"
)

// SetDown cuts the line, or mends it: every call fails without reaching the node, and
// those who follow heads are told.
func (l *Line) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	close(l.turned)
	l.turned = make(chan struct{})
}

// LoseCalls makes a part of all calls vanish on their way to the node.
func (l *Line) LoseCalls(part float64) { l.set(func() { l.loseCalls = part }) }

// LoseAnswers makes a part of all answers vanish: the node has done what it was asked.
func (l *Line) LoseAnswers(part float64) { l.set(func() { l.loseAnswers = part }) }

// LoseNextAnswer makes the answer of the next call of that name vanish, such as "Submit".
func (l *Line) LoseNextAnswer(call string) { l.set(func() { l.loseNext = call }) }

// Delay makes every call take that long on its way to the node.
func (l *Line) Delay(d time.Duration) { l.set(func() { l.delay = d }) }

// Watch calls a function with the name of each call before it reaches the node:
// the place to kill a sender, or to mine under its hands.
func (l *Line) Watch(f func(call string)) { l.set(func() { l.watch = f }) }

// Calls counts the calls of a name so far, lost ones included.
func (l *Line) Calls(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[call]
}

func (l *Line) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// pass takes a call to the node and its answer back, if the line lets them. The
// function runs with the node's lock held.
func (l *Line) pass(ctx context.Context, call string, at func()) error {
	l.mu.Lock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	l.calls[call]++
	watch, delay := l.watch, l.delay
	l.mu.Unlock()
	if watch != nil {
		watch(call)
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %s: %w", chain.ErrUnreachable, call, err)
	}
	l.mu.Lock()
	lostCall := l.down || l.loseCalls > 0 && l.rand.Float64() < l.loseCalls
	lostAnswer := l.loseNext == call || l.loseAnswers > 0 && l.rand.Float64() < l.loseAnswers
	if l.loseNext == call {
		l.loseNext = ""
	}
	l.mu.Unlock()
	if lostCall {
		return fmt.Errorf("%w: %s", chain.ErrUnreachable, call)
	}
	l.node.mu.Lock()
	at()
	l.node.mu.Unlock()
	if lostAnswer {
		return fmt.Errorf("%w: %s", chain.ErrUnreachable, call)
	}
	return nil
}
