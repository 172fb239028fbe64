package logs

import (
	"os"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// The tests wait for each other's nodes most of the time.
func TestMain(m *testing.M) {
	runtest.MostlyWait()
	os.Exit(m.Run())
}
