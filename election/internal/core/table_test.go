package core_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

// states has a script for each state of a machine with one seat.
var states = []struct{ name, script string }{
	{"before anything", ""},
	{"connecting", "0s tick"},
	{"offline", "0s tick\n1ms failed lost"},
	{"trying", "0s tick\n1ms opened"},
	{"following", "0s tick\n1ms opened\n2ms tried s=held by=a process=7"},
	{"told to yield", "0s tick\n1ms opened\n2ms tried s=yield"},
	{"blocked by a fence", "0s tick\n1ms opened\n2ms tried s=busy"},
	{"leading in the hold, beating", "0s tick\n1ms opened\n2ms tried s=won hold=3s\nnext tick"},
	{"leading in the hold", "0s tick\n1ms opened\n2ms tried s=won hold=3s"},
	{"leading", "0s tick\n1ms opened\n2ms tried s=won handoff"},
	{"leading, beating", "0s tick\n1ms opened\n2ms tried s=won handoff\nnext tick"},
	{"leading, late", "0s tick\n1ms opened\n2ms tried s=won handoff\n3s tick"},
	{"leading, suspended", "0s tick\n1ms opened\n2ms tried s=won handoff\nnext tick\n+1ms failed"},
	{"closing", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s"},
	{"closing, deposed", "0s tick\n1ms opened\n2ms tried s=won handoff\nnext tick\n+1ms beaten s=dead"},
	{"closing, session lost", "0s tick\n1ms opened\n2ms tried s=won handoff\nnext tick\n+1ms failed lost"},
	{"abandoned, parting", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s timeout=1ms\n5ms tick"},
	{"abandoned", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s timeout=1ms\n5ms tick\n6ms parted"},
	{"parting", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s\n5ms ended s"},
	{"farewell to be said again", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s\n5ms ended s\n6ms failed"},
	{"resting", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stepdown s\n5ms ended s\n6ms parted"},
	{"retired, leading", "0s tick\n1ms opened\n2ms tried s=won handoff\n3ms retire s"},
	{"a role came, enlisting", "0s tick\n1ms opened\n2ms tried s=won handoff\n3ms add t"},
	{"leading, to change", "0s tick\n1ms opened\n2ms tried s=won handoff\n3ms add s lease=5s"},
	{"stopping, closing", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stop"},
	{"stopping, parting", "0s tick\n1ms opened\n2ms tried s=won handoff\n4ms stop\n5ms ended s"},
	{"over", "0s tick\n1ms stop\n2ms failed lost"},
}

var happenings = []string{
	"tick", "opened", "tried s=won hold=3s", "tried s=won handoff", "tried s=held by=b process=9", "tried s=busy",
	"tried s=yield", "tried s=refused", "beaten", "beaten s=dead", "beaten s=locked", "parted", "failed", "failed lost",
	"woken", "woken process=7", "woken scope=s", "woken scope=s holder=b", "woken scope=other",
	"stepdown s to=b", "stepdown other", "ended s", "ended other", "stop",
	"add s lease=5s", "add t", "retire s", "retire other", "rest s for=5s", "enlisted",
}

// TestTable feeds each input in each state, except answers without a request.
func TestTable(t *testing.T) {
	const file = "testdata/table.golden"
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := newScript(t)
			s.play(state.script)
			s.start()
			in := s.input(strings.Fields(line)[0], strings.Fields(line)[1:])
			if in == nil || answers(in) && !matches(s.pending, in) {
				continue
			}
			b.WriteString(s.play("+1ms " + line))
		}
	}
	storytest.Golden(t, *update, file, b.String())
}
