package hint

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
)

// stories of each state of a node: in an open namespace, with electors, and with the rounds of document 003.
var states = []struct{ name, story string }{
	{"listening", "with\npeers a b"},
	{"alone", "with\npeers\nwait 4"},
	{"following nobody", "with\npeers a b\na seniority=5\nwait 4\na seniority=5"},
	{"following", "with\npeers a b\na seniority=5 leads reign=3\nwait 4\na seniority=5 leads reign=3"},
	{"leading", "with\npeers a b\na seniority=0\nseniority 3\nwait 3\na seniority=0\nwait 1"},
	{"standing back", "with\npeers a b\na seniority=0\nseniority 3\nwait 3\na seniority=0\nwait 1\nwithdraw\nwait 1"},
	{"parted", "with\npeers a b\na seniority=5 leads reign=1\nwait 4\na seniority=5 leads reign=1\nwait 9"},
	{"an elector, listening", "with electors=z,a,b\npeers a b"},
	{"an elector, following", "with electors=z,a,b\npeers a b\na near\nwait 3\na seniority=5 leads reign=3"},
	{"an elector, leading", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1"},
	{"an elector, standing back", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1\nwithdraw\nwait 1"},
	{"an elector, parted", "with electors=z,a,b\npeers a b\na near\nwait 3\na leads reign=1\nwait 9"},
	{"a bystander without a leader", "with electors=a,b,c\npeers a b"},
	{"a bystander, following", "with electors=a,b,c\npeers a b\na leads reign=3"},
	{"paper, alone", "with policy=paper\npeers a b\nwait 4"},
	{"paper, following", "with policy=paper\npeers a b c\nvote a for a\nvote b for a\nwait 3"},
}

var happenings = []string{
	"tick", "wait 9", "freeze 5", "peers", "peers a b", "a", "a near", "a rests reign=3", "a leads reign=1", "a leads reign=9", "a leads reign=9 age=20",
	"b leads reign=2", "a leads reign=9 signer=b", "a leads reign=9 seq=1", "q leads reign=9", "z leads reign=9 inc=99 via=a", "c leads reign=9 via=a",
	"news a flags on", "vote a for b", "open a", "faulty a", "seniority 9", "publish flags on", "withdraw",
}

// Every input in every state: each line of the file is a decision (B2 to B7).
func TestTable(t *testing.T) {
	t.Parallel()
	const file = "testdata/table.golden"
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for before := range strings.SplitSeq(state.story, "\n") {
				s.tell(strings.Fields(before))
			}
			b.WriteString(line + "\n")
			for _, done := range append(s.tell(strings.Fields(line)), s.status()...) {
				b.WriteString("    " + done + "\n")
			}
		}
	}
	storytest.Golden(t, *update, file, b.String())
}
