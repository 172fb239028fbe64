package overlay

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

// states has a story for each state of the machine, and of its connection with b.
var states = []struct{ name, story string }{
	{"away", "node floor=1\ntick"},
	{"dialling for an arc", "node floor=1\ntick\nup c\nc hello 6 needs\nc exchange 1 b c"},
	{"dialling as a spare", "node floor=2\ntick\nup c\nc hello 6 needs\nc exchange 1 b d c\nc hello 6 needs\ntick 5\nc exchange 2 c c"},
	{"asking it to join", "node contacts b\ntick\nup b"},
	{"up, and nobody needs it", "node floor=1\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 idle"},
	{"up, and it needs us", "node floor=1\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 needs"},
	{"up, and we need it", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nup c\nb hello 5 idle\ntick 3"},
	{"its exchange is not answered", "node floor=1 every=6\ntick\nup b\nb hello 5 needs\nb exchange 1 b c d\nup c\ntick 5"},
	{"dialled once more", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nup c\ntick 4\ndown b"},
	{"lost, and tried again", "node floor=1 every=6\ntick\nup c\nc hello 6 needs\nup b\nb hello 5 needs\nb exchange 1 b c\ntick 3\ndown b\ndown b\ntick 2\nc exchanged N1 c"},
	{"left", "node floor=1\ntick\nup b\nb hello 5 needs\nb exchange 1 b c\nleave"},
}

var happenings = []string{
	"tick", "up b", "down b", "b hello 5 needs", "b hello 5 idle", "b hello 55 idle", "b subscribe 9", "b welcome N1 e",
	"b welcome 77 e", "b forward 3 e", "b exchange 1 b c", "b exchange 4 b e", "b exchanged N1 e", "b exchanged 77 e", "b goodbye", "leave",
}

// Every input in every state of a connection: each line of the file is a decision (B23).
func TestTable(t *testing.T) {
	t.Parallel()
	const file = "testdata/table.golden"
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := &story{t: t}
			s.play(strings.Split(state.story, "\n")...)
			b.WriteString(line + "\n")
			for _, done := range append(s.play(line), s.play("view")...) {
				b.WriteString("    " + done + "\n")
			}
		}
	}
	storytest.Golden(t, *update, file, b.String())
}
