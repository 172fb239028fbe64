//go:build unix

package board

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

const command = "bench-member"

// TestMain runs a member of a log, since the program that is started as one is the test's own here.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == command {
		if err := RunChild(context.Background(), os.Args[3], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
