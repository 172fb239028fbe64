package pgtest

import (
	"testing"
	"time"
)

const pollEvery = 5 * time.Millisecond

// Eventually waits until cond holds. After timeout it fails the test with the text what.
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

// Within runs wait, and fails the test with the text what if wait has not returned after
// timeout: otherwise a cleanup that hangs shows nothing until the limit of the whole run.
func Within(t testing.TB, timeout time.Duration, what string, wait func()) {
	t.Helper()
	over := make(chan struct{})
	go func() { defer close(over); wait() }()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case <-over:
	case <-deadline.C:
		t.Fatalf("not within %v: %s", timeout, what)
	}
}
