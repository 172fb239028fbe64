package committee_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/sim/committee"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the stories and the page of the sequencer anew")

// P7 to P19, P21 to P31, P35, P39, P40, P42 in a committee: the stories of document 002, message by message. Each is
// judged as every run is. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	for _, name := range committee.Stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			report(t, committee.Run(committee.Config{Seed: 1, Scene: name, Story: &got}))
			file := "testdata/" + name + ".txt"
			want, err := os.ReadFile(file)
			if err != nil && !*update {
				t.Fatal(err)
			}
			head := heading(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(head+got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if all := head + got.String(); all != string(want) {
				t.Errorf("%s is told otherwise (run with -update, then read the diff):\n%s", file, storytest.FirstDifference(string(want), all))
			}
		})
	}
}

// heading returns the comments at the beginning of a story.
func heading(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
