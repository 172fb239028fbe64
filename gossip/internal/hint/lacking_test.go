package hint

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// An elector that hears no majority of them says so, and since when: until then nobody here may begin to lead, and an operator has to
// know which are away. A node that has just begun does not know yet, and one of the crowd cannot.
func TestAMajorityThatIsNotHeard(t *testing.T) {
	t.Parallel()
	const rounds = 100 * time.Millisecond
	for _, c := range []struct {
		name, story string
		since       time.Duration // before now; below 0: it hears a majority, or cannot know
		silent      string
	}{
		{"it has just begun", "with electors=z,a,b\npeers a b\nwait 4", -1, "a b"},
		{"it has never heard one", "with electors=z,a,b\npeers a b\nwait 20", 20 * rounds, "a b"},
		{"one of three is away", "with electors=z,a,b\npeers a b\nwait 20\na near", -1, "b"},
		{"it was heard", "with electors=z,a,b\npeers a b\nwait 10\na near\nwait 20", 20 * rounds, "a b"},
		{"of five, three are silent", "with electors=z,a,b,c,d\npeers a b c d\na near\nwait 3\nb near\nwait 10\nc near\nwait 1", 11 * rounds, "a b d"},
		{"of five, two are silent", "with electors=z,a,b,c,d\npeers a b c d\na near\nb near\nwait 4", -1, "c d"},
		{"the only elector", "with electors=z\npeers a b\nwait 20", -1, ""},
		{"of the crowd", "with electors=a,b,c\npeers a b\nwait 100", -1, ""},
		{"everybody may lead", "with\npeers a b\nwait 100", -1, ""},
		{"it stood still", "with electors=z,a,b\npeers a b\na near\nb near\nwait 3\nstill 100", -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for line := range strings.SplitSeq(c.story, "\n") {
				s.tell(strings.Fields(line))
			}
			s.m.Pass(s.now)
			st := s.m.Snapshot()[0]
			ago := time.Duration(-1)
			if st.Lacking >= 0 {
				ago = s.now - st.Lacking
			}
			var silent []string
			for _, e := range st.Silent {
				silent = append(silent, nameOf(e))
			}
			if ago != c.since || strings.Join(silent, " ") != c.silent {
				t.Errorf("it has heard no majority for %v, and not %v; want %v, %q", ago, silent, c.since, c.silent)
			}
		})
	}
}

// A node that names nobody says since when: since its start, since it told so, or since its leader's last word counts no more.
func TestSinceWhenNobodyLeads(t *testing.T) {
	t.Parallel()
	s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
	unled := func(want time.Duration) {
		t.Helper()
		s.m.Pass(s.now)
		if st := s.m.Snapshot()[0]; st.Leader != (wire.Subject{}) || s.now-st.Unled != want {
			t.Errorf("nobody has led for %v, want %v (it names %v)", s.now-st.Unled, want, st.Leader)
		}
	}
	tell := func(line string) { s.tell(strings.Fields(line)) }
	tell("with electors=a,b,c")
	tell("peers a b")
	tell("wait 30")
	unled(3 * time.Second)
	tell("a leads reign=3")
	tell("still 81") // one more than the validity of the crowd
	unled(100 * time.Millisecond)
	tell("wait 20")
	if told := s.m.order[0].suggested; told.Leader != (wire.Subject{}) {
		t.Fatalf("it names %v", told)
	}
	if ago := s.now - s.m.Snapshot()[0].Unled; ago < 1900*time.Millisecond || ago > 2100*time.Millisecond {
		t.Errorf("nobody has led for %v", ago)
	}
	if all := s.m.Snapshot(); slices.ContainsFunc(all, func(st Status) bool { return st.Lacking >= 0 }) {
		t.Error("a node of the crowd speaks of the electors' majority")
	}
}
