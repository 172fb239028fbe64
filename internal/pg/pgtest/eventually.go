package pgtest

import (
	"testing"
	"time"
)

const pollEvery = 5 * time.Millisecond

// Eventually waits until cond holds, and fails the test with the words of what
// after timeout.
func Eventually(t testing.TB, timeout time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for !cond() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}
