package hint

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// Whom a machine names is judged when it is asked: after the process stood still nobody is told that it leads, or that one leads
// which it has not heard for a validity, before it has had a Tick, and whatever message comes first.
func TestAStatusIsJudgedWhenItIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, story  string
		still, after time.Duration // for which the status still stands, and no longer
	}{
		{"it leads", "with\npeers a b\nseniority 3\na seniority=0\nwait 4\na seniority=0\nwait 1", 390 * time.Millisecond, 410 * time.Millisecond},
		{"an elector, leading", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1", 390 * time.Millisecond, 410 * time.Millisecond},
		{"it follows", "with\npeers a b\na seniority=5 leads reign=3", 800 * time.Millisecond, 801 * time.Millisecond},
		{"of the crowd", "with electors=a,b,c\npeers a b\na leads reign=3", 8000 * time.Millisecond, 8001 * time.Millisecond},
		{"paper, leading", "with policy=paper\npeers a b\nwait 4", 4400 * time.Millisecond, 4900 * time.Millisecond},
		{"paper, following", "with policy=paper\npeers a b c\nvote a for a\nvote b for a\nwait 3", 4400 * time.Millisecond, 4900 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for line := range strings.SplitSeq(c.story, "\n") {
				s.tell(strings.Fields(line))
			}
			said := s.m.order[0].suggested
			if said.Leader == (wire.Subject{}) {
				t.Fatal("it names nobody, and the test shows nothing")
			}
			s.m.Pass(s.now + c.still)
			if st := s.m.Snapshot()[0]; st.Suggestion != said {
				t.Errorf("after %v it names %+v, want %+v", c.still, st.Suggestion, said)
			}
			s.m.Pass(s.now + c.after)
			if st := s.m.Snapshot()[0]; st.Suggestion != (Suggestion{}) || st.State == Leading || st.Heard != -1 {
				t.Errorf("after %v it names %+v, is %v, and has heard it %v ago", c.after, st.Suggestion, st.State, st.Heard)
			}
			s.now += time.Hour
			s.tell(strings.Fields("news b flags on"))
			if st := s.m.Snapshot()[0]; st.Suggestion != (Suggestion{}) || st.State == Leading {
				t.Errorf("after an hour, and the first message, it names %+v, and is %v", st.Suggestion, st.State)
			}
		})
	}
}
