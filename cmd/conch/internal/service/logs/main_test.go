package logs

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at once than there are processors: they wait for each other's nodes most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		_ = n.Value.Set("8")
	}
	os.Exit(m.Run())
}
