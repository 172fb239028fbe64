package pgtest

import (
	"os"
	"testing"
)

// Missing ends a test for want of something that conch itself does not need: elsewhere
// it is skipped, in CI it fails, since a proof that is skipped where it is demanded looks
// like a proof.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
