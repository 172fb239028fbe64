package core_test

import (
	"flag"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// Each story of testdata shows the machine's actions after every input.
func TestStories(t *testing.T) {
	storytest.Run(t, *update, func(t *testing.T) func(string) []string { return newScript(t).turn })
}
