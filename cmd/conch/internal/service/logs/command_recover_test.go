package logs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
)

// A file of another kind, such as a text or the store of a log, is no recovery file, and that is said without a number of a format, which nobody
// has written into it. One of a conch to come may be one.
func TestWhatIsNoRecoveryFile(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"[node]\n":              "is of another kind",
		"\x00\x00\x00\x00bolt":  "is of another kind",
		"\x02 of a new conch":   "written by a newer version",
		"":                      "is not whole",
		"\x01 and nothing else": "is not whole",
	} {
		_, err := adopt(t.Context(), &Log{Namespace: "flags"}, []byte(file))
		text := fmt.Sprint(err)
		if !strings.Contains(text, want) || !strings.Contains(text, "no recovery file") || strings.Contains(text, "format") && want == "is of another kind" {
			t.Errorf("%q: it says %q, want %q", file, text, want)
		}
	}
}

// One node has nothing to be compared with, and one that is named twice has nothing either: a script would take it for equal.
func TestOneNodeIsNotCompared(t *testing.T) {
	t.Parallel()
	node := &testNode{site: &site{t: t}}
	d := node.door() // which answers nothing: nobody is asked
	for _, args := range [][]string{{"verify", "flags"}, {"verify", "flags", "--node", "unix:" + d.path}} {
		run := d.run(args...)
		pgtest.Within(t, nodetest.Patience, "the command ends", func() {
			if err := <-run.ended; err == nil || !strings.Contains(err.Error(), "repeat --node for each of them") {
				t.Errorf("%q ends with %v", args, err)
			}
		})
	}
}
