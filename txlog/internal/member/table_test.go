package member

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

// stories of each state of a member.
var states = []struct{ name, story string }{
	{"new", "with"},
	{"following", "deposed 1 a\nsent 1 opening\ncommit\nsent 1 goal g0 add x 1"},
	{"knowing of no leader, with a goal that waits", "sent 1 opening\nsent 1 goal g0 add x 1\ncommit 1\ndeposed 2\ngoal old g9 add y 1"},
	{"leading, not opened", "sent 1 opening\nsent 1 goal g0 add x 1\ncommit 1\nleads 2\ngoal old g9 add y 1"},
	{"leading, idle", "leads 1\nstored\ncommit"},
	{"leading, with entries in flight", "leads 1\nstored\ncommit\ngoal old g0 add x 1\nstored\ngoal old g9 ring bell\nmembers old a b\nread old x"},
	{"leading, with effects", "leads 1\ndoor open\nstored\ncommit\ngoal old g0 ring bell\nstored\ncommit"},
	{"in doubt", "sent 1 opening\nsent 1 goal g0 add x 1\ncommit\nflip x\nsent 1 goal g8 add x 1\nrefused b 3"},
	{"having given its term up", "leads 1\nstored\ncommit\ngoal old g0 add x 1\nstored\nrefused a 2\nrefused c 2"},
}

var happenings = []string{
	"wait 50", "wait 6000", "suggested b", "suggested c", "leads 9", "deposed 9", "deposed 9 c", "stored", "commit", "commit 1", "sent 9 goal g7 add x 1",
	"sent 9 wrong goal g7 add x 1", "goal new g0 add x 1", "goal new g0 add x 2", "goal new g1 add x 1", "goal new g1 fail", "read new x", "confirmed 1 1",
	"members new a b", "members new a b c", "gone old", "door open", "door shut", "done 2 0", "ended 2 0", "refused a 2", "refused b 2", "rebuilt", "dropped 3",
}

// Every input in every state: each line of the file is a decision.
func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := newStory(t)
			for before := range strings.SplitSeq(state.story, "\n") {
				s.tell(strings.Fields(before))
			}
			if line == "dropped 3" && (s.committed > 2 || len(s.disk) < 2) {
				continue // an authority drops nothing that is committed, or is not there
			}
			b.WriteString(line + "\n")
			for _, done := range append(s.tell(strings.Fields(line)), s.status()...) {
				b.WriteString("    " + done + "\n")
			}
		}
	}
	storytest.Golden(t, *update, "testdata/table.golden", b.String())
}
