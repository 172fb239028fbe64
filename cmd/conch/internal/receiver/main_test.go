package receiver

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
