package pgtest

import (
	"os"
	"testing"
)

// How much a test does. `make test` runs a slice of every kind of proof within minutes, CI runs every
// test, and `make nightly` repeats them with more rounds and seeds.

// Nightly reports whether the tests shall do all that they can (CONCH_NIGHTLY is set).
func Nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }

// Whole reports whether every test shall run: in CI (CI is set) and at night.
func Whole() bool { return os.Getenv("CI") != "" || Nightly() }

// InCI skips a test that `make test` leaves to CI, since others of its kind run there.
func InCI(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skip("left to CI: run it with CI=1")
	}
}
