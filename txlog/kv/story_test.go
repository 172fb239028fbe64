package kv

import (
	"flag"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The stories in testdata: each line is a goal or a query, and below it is what comes of it.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := New()
		return func(line string) []string {
			word, text, _ := strings.Cut(line, " ")
			switch word {
			case "goal":
				o := do(t, s, text)
				if o.Fault != "" {
					return []string{"fails: " + o.Fault}
				}
				if len(o.Diff) == 0 {
					return []string{string(o.Result) + ", and nothing changes"}
				}
				return []string{string(o.Result)}
			case "ask":
				answer, err := txlog.Ask(s.View(), []byte(text))
				if err != nil {
					return []string{"refused: " + err.Error()}
				}
				return []string{string(answer)}
			}
			t.Fatalf("%q is no word", word)
			return nil
		}
	})
}

// do executes a goal and applies what came of it. A goal that fails has no diff.
func do(t *testing.T, s txlog.State, goal string) txlog.Outcome {
	t.Helper()
	before := s.Hash()
	o := txlog.Run(s, []byte(goal))
	if s.Hash() != before {
		t.Fatalf("%s: the execution has changed the store", goal)
	}
	if err := s.Apply(o.Diff); err != nil {
		t.Fatalf("%s: %v", goal, err)
	}
	if changed := s.Hash() != before; changed != (len(o.Diff) > 0) || o.Fault != "" && changed {
		t.Fatalf("%s: changed is %v, by a diff of %d bytes", goal, changed, len(o.Diff))
	}
	return o
}
