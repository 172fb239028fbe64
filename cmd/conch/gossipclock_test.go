//go:build linux

package main_test

import (
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// Somebody sets the time of the leader's machine while it runs, an hour ahead and an hour back: it leads on, all hear its news, and
// nobody has changed their mind (no-wall-clock).
func TestATimeThatIsSet(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("the library that turns a clock has to be compiled, and there is no C compiler here")
	}
	s := &machines{t: t, electors: []string{"n1", "n2", "n3"}}
	clocks := map[*machine]*skew.Clock{}
	for _, name := range s.electors {
		clock, err := skew.New(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = clock.Remove() })
		m := prepareMachine(t, name)
		m.env = clock.Env()
		clocks[m], s.all = clock, append(s.all, m)
	}
	for _, m := range s.all {
		m.write(s.file(m))
		s.start(m)
	}
	leader, reign := s.agree(s.all, anybody)
	for i, off := range []time.Duration{time.Hour, -time.Hour} {
		if err := clocks[leader].Set(off); err != nil {
			t.Fatal(err)
		}
		pgtest.Eventually(t, patience, "the leader has another time", func() bool {
			_, answer := get(t, leader.api()+"/v1/nodes")
			at, err := time.Parse(time.RFC3339, answer["as_of"].(string))
			return err == nil && time.Until(at).Abs() > 59*time.Minute
		})
		if code, body := leader.sends(http.MethodPut, "/v1/nodes/default/news/"+strconv.Itoa(i), "set"); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, body)
		}
		for _, m := range s.but(leader) {
			before := m.tenure()
			pgtest.Eventually(t, patience, m.name+" has heard the news", func() bool { return len(m.news()) == i+1 })
			pgtest.Eventually(t, patience, "four validities have passed", func() bool { return m.tenure() > before+3.2 || m.tenure() < before })
		}
		if now, later := s.agree(s.all, anybody); now != leader || later != reign {
			t.Errorf("by %v, and now %s leads in reign %v, before %s in %v", off, now.name, later, leader.name, reign)
		}
	}
}

// tenure is for how many seconds a machine has named its leader.
func (m *machine) tenure() float64 {
	_, metrics := page(m.t, m.api()+"/metrics")
	_, rest, _ := strings.Cut(metrics, "\nconch_gossip_leader_tenure_seconds{namespace=\"default\"} ")
	text, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		m.t.Errorf("the tenure is %q", text)
	}
	return n
}
