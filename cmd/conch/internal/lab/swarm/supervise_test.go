//go:build unix

package swarm

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
)

// supervised returns a supervisor of nodes whose processes do nothing.
func supervised(t *testing.T, nodes int, script string) *supervisor {
	t.Helper()
	ground, _ := prepared(t, nodes)
	names := make([]string, nodes)
	for i, n := range ground.All {
		names[i] = n.Name
	}
	ground.program = func(*node) []string { return []string{"-c", script} }
	gone, leave := context.WithTimeout(t.Context(), time.Minute)
	s := &supervisor{
		site: ground, screen: screen.New(screen.Config{Out: io.Discard}), plan: NewPlan(1, names, names[:electors]), start: time.Now(), gone: gone,
		told: make(chan told, 100), ears: map[int]*ear{}, answered: map[int]bool{}, heardBy: map[string]int{}, board: newBoard(), record: Record{Nodes: nodes, Timing: Config{Nodes: nodes}.timing()},
	}
	t.Cleanup(func() { leave(); s.busy.Wait() })
	return s
}

func (s *supervisor) launchAll(t *testing.T) {
	t.Helper()
	for _, n := range s.All {
		if err := s.launch(n); err != nil {
			t.Fatal(err)
		}
		s.answered[n.life] = true
	}
}

// says has a life name somebody.
func (s *supervisor) says(life int, leader string, reign uint64) {
	s.hear(told{life: life, at: time.Now(), view: &named{leader, reign}})
}

// A process that ends by itself is a fault of the run, one that the demo kills is not. Both come back, as another life.
func TestLives(t *testing.T) {
	s := supervised(t, 10, "exec sleep 60")
	s.launchAll(t)
	for life := range s.All {
		s.says(life, "n001", 1)
	}
	if !s.agree() {
		t.Fatal("all name n001, and they do not agree")
	}
	s.kill(s.All[3])
	died := s.record.Lives[3].To
	if s.kill(s.All[3]); s.record.Lives[3].To != died {
		t.Error("a dead process died again")
	}
	if s.agree() || s.board.living() != 9 {
		t.Errorf("%d are said to live, want 9: one is dead", s.board.living())
	}
	s.says(3, "n002", 2) // what comes late of the dead one
	if by, all := s.board.agreed(nil); !all || by.leader != "n001" {
		t.Error("a dead process counts")
	}
	s.All[3].Back = time.Now()
	s.All[4].Process.Signal(syscall.SIGKILL) // not by the demo
	if !s.await(s.gone, time.Minute, func() bool { return len(s.record.Lives) == 12 }) {
		t.Fatalf("the two were not started again: %+v", s.record.Lives)
	}
	if len(s.record.Falls) != 1 || s.record.Falls[0].Life != 4 {
		t.Errorf("these ended by themselves: %+v, want n005 alone", s.record.Falls)
	}
	for _, life := range []int{3, 4} {
		if s.record.Lives[life].To == 0 {
			t.Errorf("life %d has no end: %+v", life, s.record.Lives[life])
		}
	}
	if s.agree() {
		t.Error("the new lives name nobody yet, and all are said to agree")
	}
}

// Of many that are due only some are started before these have answered.
func TestAFewStartAtATime(t *testing.T) {
	s := supervised(t, 12, "exec sleep 60")
	for _, n := range s.All {
		n.Back = time.Now()
	}
	s.tick(time.Now())
	s.tick(time.Now())
	if len(s.record.Lives) != atOnce {
		t.Errorf("%d are started, want %d", len(s.record.Lives), atOnce)
	}
	for life := range s.record.Lives {
		peers := 0
		s.hear(told{life: life, at: time.Now(), peers: &peers})
	}
	if s.tick(time.Now()); len(s.record.Lives) != 12 {
		t.Errorf("%d are started, want the rest too", len(s.record.Lives))
	}
}

// The demo does not go on when it may have missed something.
func TestAGapIsAFault(t *testing.T) {
	s := supervised(t, 10, "exec sleep 60")
	s.launchAll(t)
	why := "away too long"
	s.told <- told{life: 2, at: time.Now(), gap: &why}
	if s.await(s.gone, time.Minute, func() bool { return false }); s.fault == nil || !strings.Contains(s.fault.Error(), "n003") || !strings.Contains(s.fault.Error(), "--nodes") {
		t.Errorf("the fault is %v, want one of n003 with a remedy", s.fault)
	}
}

// A program that ends at once is no cold start: what it said is.
func TestANodeThatDoesNotStart(t *testing.T) {
	s := supervised(t, 10, "echo 'no such key' >&2; exit 2")
	if err := s.supervise(s.gone); err == nil || !strings.Contains(err.Error(), "no such key") {
		t.Errorf("got %v, want what the node said", err)
	}
}

func TestTheView(t *testing.T) {
	s := supervised(t, 12, "exec sleep 60")
	s.launchAll(t)
	if text := s.render(time.Now()); !strings.Contains(text, "by 0 of 12 living nodes; 12 name nobody, 0 somebody else") || !strings.Contains(text, "\n  ............\n") {
		t.Errorf("nobody is named yet: %s", text)
	}
	s.says(0, "n001", 4)
	for life := range 9 {
		s.says(life, "n001", 4)
	}
	s.says(9, "n002", 3)
	s.kill(s.All[10])
	s.record.Cuts = []Cut{{Side: map[string]bool{"n009": true, "n012": true}}}
	three := 3
	s.hear(told{life: 0, at: time.Now(), peers: &three})
	topic := "news-1"
	s.hear(told{life: 5, at: time.Now(), piece: &topic})
	s.hear(told{life: 6, at: time.Now(), heard: &topic})
	text := s.render(time.Now())
	for _, part := range []string{
		"n001, reign 4", "by 9 of 11 living nodes; 1 name nobody, 1 somebody else", "0 to 3,", "1 pieces; news-1 of n006", "was heard by 1", "\n  Looooooo+?x-\n", "on the smaller side",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
}

func TestBusyIsNoticed(t *testing.T) {
	s := supervised(t, 10, "exec sleep 60")
	s.ticked = time.Now().Add(-time.Second)
	s.tick(time.Now())
	if s.record.Late < 900*time.Millisecond || !(Verdict{Late: ms(s.record.Late)}).Slow() {
		t.Errorf("it was late by %v, want a second, and that the machine is said to be slow", s.record.Late)
	}
}

// Where nobody looks, no node is asked for its neighbours: that is work for all of them.
func TestTheCensusIsForTheView(t *testing.T) {
	s := supervised(t, 10, "exec sleep 60")
	if s.tick(time.Now()); s.asked != 0 {
		t.Error("a node is asked, and nobody looks")
	}
	s.cfg.Screen.Terminal = true
	if s.tick(time.Now()); s.asked != 1 {
		t.Errorf("%d nodes are asked for the view, want one", s.asked)
	}
}

// A crowded machine tells its nodes less in a while, and their electors speak more rarely.
func TestACrowdedMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes, processors int
		crowding          float64
		round, second     time.Duration // what becomes of a second
	}{
		{10, 2, 1, quickRound, time.Second}, {40, 2, 1, quickRound, time.Second}, {80, 2, 1, quickRound, 4 * time.Second},
		{120, 2, 1.5, 2 * quickRound, 9 * time.Second}, {200, 2, 2.5, 3 * quickRound, 15 * time.Second},
		{1000, 2, 12.5, slowRound, 15 * time.Second}, {200, 5, 1, quickRound, 4 * time.Second},
	} {
		cfg := Config{Nodes: c.nodes}
		if got := cfg.crowding(c.processors); got != c.crowding {
			t.Errorf("%d nodes on %d processors: %v times as many, want %v", c.nodes, c.processors, got, c.crowding)
		}
		if got := cfg.paced(time.Second, c.processors); got != c.second {
			t.Errorf("%d nodes on %d processors: a second becomes %v, want %v", c.nodes, c.processors, got, c.second)
		}
		if got := cfg.round(c.processors); got != c.round {
			t.Errorf("%d nodes on %d processors: a round is %v, want %v", c.nodes, c.processors, got, c.round)
		}
	}
}
