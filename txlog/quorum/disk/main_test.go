package disk_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nightly reports whether there is time for many rounds.
func nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }
