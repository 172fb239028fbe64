package lab

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/ontologies"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/schedule/scheduletest"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// The line that repeats a run gives its configuration again: in each scene, without each rule, and with whatever else was asked for.
func TestALineRepeatsItsRun(t *testing.T) {
	t.Parallel()
	repeats(t, alertstest.Simulator(), []string{"--nodes 5 --hours 2"})
	repeats(t, electiontest.Simulator(), []string{"--scopes 3 --takeover mixed --locks process --unequal-leases", "--seed 0 --steps 7"})
	repeats(t, sequencertest.Simulator(), []string{"--nodes 7 --needed 6 --intents 3 --range 40 --faults 9s --calm --policy ring"})
	repeats(t, gossiptest.Simulator(), []string{"--nodes 9 --contacts 2 --loss 5 --stalls --diameter 6 --rounds 90 --electors 3", "--policy paper"})
	repeats(t, scheduletest.Simulator(), []string{"--nodes 5 --hours 2"})
	repeats(t, ontologies.Simulator(), []string{"--nodes 9 --members 6 --clients 2 --machine prolog --loss 5 --stalls --calm --faults 9s"})
}

func repeats[C, P any](t *testing.T, s world.Simulator[C, P], asked []string) {
	t.Helper()
	asked = append(asked, "")
	lines := slices.Clone(asked)
	for _, scene := range s.Scenes {
		for _, more := range asked {
			lines = append(lines, more+" --scene "+scene.Name)
		}
	}
	for _, rule := range s.Rules {
		lines = append(lines, "--break "+rule.Name, "--seed 9 --break "+rule.Name)
	}
	for _, line := range lines {
		c := asks(t, s, line)
		again := asks(t, s, strings.TrimPrefix(s.Line(c), "conch-lab sim "+s.Name))
		if !reflect.DeepEqual(c, again) {
			t.Errorf("%s %s is %+v, and its line\n%s\nis %+v", s.Name, line, c, s.Line(c), again)
		}
	}
}

// asks returns the configuration that flags ask for.
func asks[C, P any](t *testing.T, s world.Simulator[C, P], line string) C {
	t.Helper()
	c, err := s.Asked(line)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
