// Package storytest runs the stories of machines, which are read by people: in a file of
// testdata a line is an input, and the indented lines after it are what the machine did.
//
//	storytest.Run(t, *update, func(t *testing.T) func(line string) []string { … })
//
// A line that begins with # is a comment. With update the files are rewritten with what
// the machine does now: read the diff.
package storytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const indent = "    "

// Run tells each story of testdata/*.txt to a machine of its own, which begin makes, and
// compares what it does with what is written.
func Run(t *testing.T, update bool, begin func(t *testing.T) (tell func(line string) []string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := Play(string(want), begin(t))
			if update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s is told differently now (run it with -update, then read the diff):\n%s", file, FirstDifference(string(want), got))
			}
		})
	}
}

// Play tells a story and returns it with what is done after each input.
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

// FirstDifference shows where two texts part.
func FirstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			from := max(0, i-4)
			return "want\n" + strings.Join(w[from:min(i+4, len(w))], "\n") + "\ngot\n" + strings.Join(g[from:min(i+4, len(g))], "\n")
		}
	}
	return "one of the two ends earlier"
}
