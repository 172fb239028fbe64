package config

import (
	"fmt"
	"strings"
	"testing"
)

// The line of each key is found on the way through the file: looked for from the beginning each time, 10,000 roles took 24 s.
func TestLinesAreCountedOnce(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("[[roles]]\nscope = \"s\"\n# a comment\n\n", 300))
	lines := linesOf(text)
	for i := range 300 {
		if at := fmt.Sprintf("roles[%d]", i); lines[at] != 4*i+1 || lines[at+".scope"] != 4*i+2 {
			t.Fatalf("%s is on line %d and its scope on %d, want %d and the next", at, lines[at], lines[at+".scope"], 4*i+1)
		}
	}
	p := ruler{text: text, line: 1}
	p.lineAt(len(text))
	if p.at != len(text) || p.lineAt(10) != 1201 {
		t.Errorf("a line that was counted is counted again: at %d", p.at)
	}
}
