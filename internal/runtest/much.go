package runtest

import (
	"os"
	"testing"
)

// Nightly reports whether the tests shall do all that they can (CONCH_NIGHTLY is set).
func Nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }

// Whole reports whether every test shall run: CONCH_WHOLE is set, or CONCH_NIGHTLY.
func Whole() bool { return os.Getenv("CONCH_WHOLE") != "" || Nightly() }

// LongRun skips a test that `make test` leaves to `make test-whole`, since others of its kind run.
func LongRun(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skip("left to make test-whole: run it with CONCH_WHOLE=1")
	}
}

// NightRun skips a test that repeats what others prove, unless Nightly.
func NightRun(t testing.TB) {
	t.Helper()
	if !Nightly() {
		t.Skip("left to make nightly: run it with CONCH_NIGHTLY=1")
	}
}

// ByDay returns how much of something a test does by day; at night it does all of it.
func ByDay[N any](day, night N) N {
	if Nightly() {
		return night
	}
	return day
}
