package logs

import (
	"fmt"
	"path/filepath"
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
		"\x09 of a new conch":   "written by a newer version",
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

// Stores that a person has given up count for nothing: nothing is wrong with the disk, however often a log begins anew.
func TestRecoveredStoresCrowdNothing(t *testing.T) {
	t.Parallel()
	l := &Log{Namespace: "flags", Store: filepath.Join(t.TempDir(), "flags.log")}
	for i := range mostAside + 1 {
		kept, _, err := renew(t.Context(), l)
		if err != nil || (kept == "") != (i == 0) {
			t.Fatalf("store %d: %q is kept, %v", i, kept, err)
		}
	}
	if err := l.crowded(); err != nil {
		t.Errorf("the node makes no store any more: %v", err)
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
