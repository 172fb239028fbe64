package pgtest

import (
	"testing"
	"time"
)

// A condition may ask a server: it is looked at often at first, and less often while it lasts. A wait of seconds ends a little
// later for that, and does not ask raced programs thirty times a second.
const pollAtFirst, pollAtLast = 2 * time.Millisecond, 128 * time.Millisecond

// pauseAfter returns the pause after a wait has lasted for a while.
func pauseAfter(waited time.Duration) time.Duration {
	return min(max(waited/4, pollAtFirst), pollAtLast)
}

// Eventually waits until cond holds. After timeout it fails the test with the text what.
func Eventually(t testing.TB, timeout time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline, began := time.NewTimer(timeout), time.Now()
	defer deadline.Stop()
	for !cond() {
		select {
		case <-time.After(pauseAfter(time.Since(began))):
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
