// Package storytest runs the stories of machines: golden files in testdata that people can
// read. A line is an input, and the indented lines after it are the machine's actions.
//
//	storytest.Run(t, *update, func(t *testing.T) func(line string) []string { … })
//
// A line that begins with # is a comment. With update, Run rewrites the files with the
// actions of now: read the diff.
//
// # Change a machine
//
// Every pure machine has stories. For the election, of which the others are copies in small:
//
//  1. Write the story first: a new file in election/internal/core/testdata, with hyphens in its name. Its first line is a comment that says
//     what it shows, with the requirement's number; below are the inputs alone. go test ./election/internal/core -run TestStories -update
//     writes what the machine does. Read it.
//  2. A new input is a type in input.go of that folder, a case in Machine.takeInput, and a word in script_words_test.go. A new action is a
//     type in the same file, a case in Core.carryOut unless it is passed on as it is, one in Elector.perform or Elector.call and
//     one in the simulated process, a word in script_words_test.go, and a line in visible if no snapshot shows it.
//  3. Add the state or the input to states or happenings in table_test.go: no test notices that one is missing. Then
//     go test ./election/internal/core -run TestTable -update, and read the diff: every line is a decision.
//  4. If the machine makes a new promise, rules_test.go watches for it, in stories, table and random worlds.
//  5. If a new rule keeps it safe, name the rule in the simulator of elections and break it where the world can, or by a diff in
//     internal/world/patched. TestRules there must find the seed that fails without it. Then a row in the table of rules of
//     docs/ARCHITECTURE.md, and the rule in the model, or there why not.
//  6. If the mint has to answer something new, electiontest asks both mints for it: election/internal/store plays it, conch.bid and the other
//     functions do it.
package storytest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const indent = "    "

// Break is the word with which a story names a rule: "with break=keep-early" in its first lines. It is of a machine without that rule, and is
// played only in a build that a patch has taken it from, which the variable Without names (internal/world/patched).
const (
	Break   = "break"
	Without = "CONCH_WITHOUT"
)

var breaks = regexp.MustCompile(`(?m)^with .*\b` + Break + `=(\S+)`)

// left returns the rule that this build leaves out, without the machine that its name begins with.
func left() string {
	rule := os.Getenv(Without)
	return rule[strings.LastIndexByte(rule, '/')+1:]
}

// Run plays each story of testdata/*.txt to a new machine and compares the actions with
// those in the file. begin makes the machine and returns a function that feeds it a line.
func Run(t *testing.T, update bool, begin func(t *testing.T) (tell func(line string) []string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stories in testdata (error %v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rule := ""
			if named := breaks.FindSubmatch(want); named != nil {
				rule = string(named[1])
			}
			if rule != left() {
				t.Skipf("it is of a machine without %q", rule)
			}
			got := Play(string(want), begin(t))
			if update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("the machine no longer acts as in %s (run the test with -update, then read the diff):\n%s", file, FirstDifference(string(want), got))
			}
		})
	}
}

// Play feeds the inputs of a story to tell and returns the story with the actions it returns.
func Play(text string, tell func(line string) []string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if strings.HasPrefix(line, indent) {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, done := range tell(line) {
			out.WriteString(indent + done + "\n")
		}
	}
	return out.String()
}

// Golden compares a text with that of a file. With update it writes the file instead: read the diff.
func Golden(t *testing.T, update bool, file, got string) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (run with -update, then read the diff):\n%s", file, FirstDifference(string(want), got))
	}
}

// FirstDifference returns the lines around the first difference of two texts.
func FirstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			from := max(0, i-4)
			return "want\n" + strings.Join(w[from:min(i+4, len(w))], "\n") + "\ngot\n" + strings.Join(g[from:min(i+4, len(g))], "\n")
		}
	}
	return "one of the two texts ends earlier"
}
