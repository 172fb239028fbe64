package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The command that asks again has the index at which the goal was submitted first, also for an id of the user's own: with it the goal is
// executed once, whenever it is asked again. It is learnt before the goal is sent. A since that the user says is passed on, 0 too.
func TestTheRetryIsTrue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status string
		args   []string
		sent   string // as since; empty: nothing is sent
		says   string
	}{
		{"an id that is drawn", `{"namespace":"flags","position":{"index":41,"hash":"x"}}`, nil, "41", "--since 41"},
		{"an id of the user's", `{"namespace":"flags","position":{"index":41,"hash":"x"}}`, []string{"--goal-id", "mine"}, "41", "--goal-id 'mine' --since 41"},
		{"at a node far behind", `{"namespace":"flags","position":{"index":41,"hash":"x"},"copy":{"known":9000,"behind":8959}}`, []string{"--goal-id", "mine"}, "9000", "--since 9000"},
		{"the user's since", `{}`, []string{"--goal-id", "mine", "--since", "7"}, "7", "--since 7"},
		{"the user's since, of an empty log", `{}`, []string{"--goal-id", "mine", "--since", "0"}, "0", "--since 0"},
		{"where the log does not run", `{"namespace":"flags","state":"failed","why":"the disk is gone"}`, []string{"--goal-id", "mine"}, "", "the disk is gone"},
	} {
		var sent map[string]json.RawMessage
		node := &testNode{site: &site{t: t}}
		node.api = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet {
				_, _ = io.WriteString(w, c.status)
				return
			}
			_ = json.NewDecoder(req.Body).Decode(&sent)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"type":"urn:conch:problem:unknown-outcome","title":"Nobody can say yet"}`)
		})
		front := node.door()
		run := front.run(append([]string{"goal", "flags", `{"op":"add","key":"a"}`}, c.args...)...)
		var err error
		pgtest.Within(t, nodetest.Patience, "the command ends", func() { err = <-run.ended })
		if got := string(sent["since"]); got != c.sent {
			t.Errorf("%s: it is sent with the since %q, want %q", c.name, got, c.sent)
		}
		if text := fmt.Sprint(err); c.sent != "" && !strings.HasSuffix(text, " --node 'unix:"+front.path+"'") {
			t.Errorf("%s: it says %q: the node that was asked is not in it", c.name, text)
		}
		if text := fmt.Sprint(err); !strings.Contains(text, c.says) || (c.sent == "") == strings.Contains(text, "To ask again") {
			t.Errorf("%s: it says %q, want %q in it", c.name, text, c.says)
		}
	}
}

// Two nodes whose logs have one name and are two, since one was left out when the log began anew: that is said, and not which entry differs.
func TestTwoLogsOfOneName(t *testing.T) {
	t.Parallel()
	door := func(self, id string) *door {
		node := &testNode{site: &site{t: t}}
		node.api = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"namespace":"flags","self":%q,"id":%q,"position":{"index":27,"hash":"x"}}`, self, id)
		})
		return node.door()
	}
	run := door("n5", "old").run("verify", "flags", "--node", "unix:"+door("n1", "new").path)
	var err error
	pgtest.Within(t, nodetest.Patience, "the command ends", func() {
		for run.out.Scan() { // it prints what it has found
		}
		err = <-run.ended
	})
	if text := fmt.Sprint(err); !strings.Contains(text, "n1 and n5 have two logs of one name") {
		t.Errorf("it says %q", text)
	}
}

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
