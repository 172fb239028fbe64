package prolog

import (
	"encoding/json"
	"errors"
	"flag"
	"sort"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loaded returns an ontology of a file.
func loaded(t testing.TB, text string) *State {
	t.Helper()
	s, _ := New().(*State)
	if text != "" {
		load(t, s, text, false)
	}
	return s
}

func load(t testing.TB, s txlog.State, text string, reverse bool) {
	t.Helper()
	goal, err := json.Marshal(map[string]any{"consult": text, "reverse": reverse})
	if err != nil {
		t.Fatal(err)
	}
	if o := do(t, s, string(goal)); o.Fault != "" {
		t.Fatalf("%s: %s", text, o.Fault)
	}
}

// do executes a goal and applies what came of it. A goal that fails has no diff.
func do(t testing.TB, s txlog.State, goal string) txlog.Outcome {
	t.Helper()
	before := s.Hash()
	o := txlog.Run(s, []byte(goal))
	if s.Hash() != before {
		t.Fatalf("%s: the execution has changed the ontology", goal)
	}
	if err := s.Apply(o.Diff); err != nil {
		t.Fatalf("%s: %v", goal, err)
	}
	if changed := s.Hash() != before; changed != (len(o.Diff) > 0) || o.Fault != "" && changed {
		t.Fatalf("%s: changed is %v, by a diff of %d bytes", goal, changed, len(o.Diff))
	}
	return o
}

// says returns what came of a goal, in one line.
func says(o txlog.Outcome) string {
	if o.Fault != "" {
		return o.Fault
	}
	return string(o.Result)
}

// ask returns the first solutions of a query, as JSON, or why there is none.
func ask(t testing.TB, s txlog.State, goal string) string {
	t.Helper()
	return answered(t, s.View(), goal)
}

func answered(t testing.TB, view txlog.View, goal string) string {
	t.Helper()
	query, err := json.Marshal(map[string]any{"goal": goal})
	if err != nil {
		t.Error(err)
	}
	answer, err := txlog.Ask(view, query)
	if err != nil {
		return err.Error()
	}
	var got Solutions
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Error(err)
	}
	var all []string
	for _, one := range got.Solutions {
		all = append(all, string(one))
	}
	return strings.Join(all, " ")
}

// The stories in testdata: each line is a goal, a file or a query, and below it is what comes of it (B22).
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := New()
		return func(line string) []string {
			word, text, _ := strings.Cut(line, " ")
			switch word {
			case "goal":
				o := do(t, s, text)
				lines := []string{says(o)}
				if o.Fault == "" && len(o.Diff) == 0 {
					lines[0] += ", and nothing changes"
				}
				for _, e := range o.Effects {
					lines = append(lines, "effect "+e.Kind+": "+string(e.Body))
				}
				changes, err := Explain(o.Diff)
				if err != nil {
					t.Fatal(err)
				}
				return append(lines, changes...)
			case "steps": // how many it takes: as many on every node, and in each version of the program
				return []string{strconv.Itoa(sort.Search(1<<20, func(n int) bool {
					return !strings.HasPrefix(txlog.RunWithin(s, []byte(text), n).Fault, "too many steps")
				}))}
			case "file", "reversed":
				goal, err := json.Marshal(map[string]any{"consult": strings.ReplaceAll(text, "  ", "\n"), "reverse": word == "reversed"})
				if err != nil {
					t.Fatal(err)
				}
				return []string{says(do(t, s, string(goal)))}
			case "ask":
				answer, err := txlog.Ask(s.View(), []byte(text))
				if err != nil {
					return []string{"refused: " + err.Error()}
				}
				return []string{string(answer)}
			case "list":
				answer, err := txlog.Ask(s.View(), []byte(`{"listing":"`+text+`"}`))
				var l Listing
				if err := errors.Join(err, json.Unmarshal(answer, &l)); err != nil {
					return []string{"refused: " + err.Error()}
				}
				return strings.Split(strings.TrimSuffix(l.Text, "\n"), "\n")
			}
			t.Fatalf("%q is no word", word)
			return nil
		}
	})
}
