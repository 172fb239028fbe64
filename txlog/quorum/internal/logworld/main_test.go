package logworld_test

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has what a world drops collected less often: it keeps little, so that a few hundred megabytes are enough.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}
