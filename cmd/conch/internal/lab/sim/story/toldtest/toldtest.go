// Package toldtest plays the stories of a simulated world in its tests.
package toldtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/internal/storytest"
)

// Tell plays a story in a world.
type Tell func(text story.Text, out io.Writer) sim.Report

// Run plays each story of testdata/stories, which must violate nothing, and compares what is told with the file. With update it
// writes the file instead: read the diff.
func Run(t *testing.T, update bool, tell Tell) {
	t.Helper()
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stories in testdata/stories (error %v)", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var told bytes.Buffer
			for _, v := range tell(story.Text{File: name, Text: string(text)}, &told).Violations {
				t.Errorf("%s after step %d: %s\n\t%s", v.Invariant, v.Step, v.Detail, v.Replay)
			}
			storytest.Golden(t, update, file, told.String())
		})
	}
}

// Falls plays a story in a world without a rule, in which an invariant has to fall, and returns what is told.
func Falls(t *testing.T, name, invariant string, tell Tell) string {
	t.Helper()
	text, err := os.ReadFile("testdata/stories/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	r := tell(story.Text{File: name, Text: string(text)}, &told)
	if !r.Has(invariant) {
		t.Errorf("%s still holds: %+v\n%s", invariant, r.Violations, told.String())
	}
	return told.String()
}
