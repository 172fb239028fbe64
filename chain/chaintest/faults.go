package chaintest

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

// SetDown cuts or mends the line. While it is down all calls fail, and Heads ends.
func (l *Line) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	close(l.turned)
	l.turned = make(chan struct{})
}

// LoseCalls loses a part of all calls, from 0 to 1, before they reach the node.
func (l *Line) LoseCalls(part float64) { l.set(func() { l.loseCalls = part }) }

// LoseAnswers loses a part of all answers, from 0 to 1, after the node has done the call.
func (l *Line) LoseAnswers(part float64) { l.set(func() { l.loseAnswers = part }) }

// LoseNextAnswer loses the answer to the next call of a method, such as "Submit".
func (l *Line) LoseNextAnswer(call string) { l.set(func() { l.loseNext = call }) }

// Delay makes every call wait for d before it reaches the node.
func (l *Line) Delay(d time.Duration) { l.set(func() { l.delay = d }) }

// Watch calls f with the method of each call before it reaches the node.
func (l *Line) Watch(f func(call string)) { l.set(func() { l.watch = f }) }

// Calls returns the number of calls of a method so far, lost ones included.
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

// pass runs at under the node's lock, and returns an error if the call or its answer is lost.
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
	_ = pause.For(ctx, delay)
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
