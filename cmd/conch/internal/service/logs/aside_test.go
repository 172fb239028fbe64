package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A member's store is an older one, restored from a backup: while its log runs the leader finds out. From then on nothing runs here, and the
// node does not say that it does: gossip is told. Since so many stores were set aside before that this is no accident, it waits for a person to
// look, with the last one aside as well: it has forgotten what it promised. When files are gone it goes on by itself.
func TestStoresAreNotSetAsideForever(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n2"]
	file := filepath.Join(n.dir, "logs", "flags.log")
	n.stop()
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n.start()
	for i := range 20 {
		s.nodes["n1"].put("a", i)
	}
	s.equal(s.names...)
	n.stop()
	all := []error{os.WriteFile(file, backup, 0o600)}
	for i := range mostAside - 1 {
		all = append(all, os.WriteFile(fmt.Sprintf("%s.aside-%d", file, i+1), nil, 0o600))
	}
	if err := errors.Join(append(all, os.WriteFile(file+".aside-1.damaged", nil, 0o600))...); err != nil {
		t.Fatal(err)
	}
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 waits for a person", func() bool {
		now := n.status()
		if now.State == stateRunning && now.Position == nil {
			t.Error("it says that the log runs, while nothing runs")
		}
		return now.State == stateFailed && strings.Contains(now.Why, "5 stores were set aside") && strings.Contains(now.Why, file+".aside-*")
	})
	pgtest.Eventually(t, 4*nodetest.Patience, "gossip is told", func() bool { return strings.Contains(n.withdrawn(), "5 stores were set aside") })
	if id, err := n.svc.Parts()[0].drawStore(t.Context()); err == nil {
		t.Errorf("it draws store %d for a log that another node makes", id)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store is in the place of the last one: %v", err)
	}
	if err := os.Remove(file + ".aside-2"); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 4*nodetest.Patience, "n2 is a member again", func() bool { return n.status().Decides })
	s.equal(s.names...)
}

// What a node says to gossip depends on what it knows of itself: a log that it never had, and of which nobody has spoken, is none of which it
// is a member.
func TestWhatIsUnfit(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	for _, c := range []struct {
		name   string
		p      *part
		before error
		unfit  bool
	}{
		{"it is opened for the first time", &part{state: stateOpening}, nil, false},
		{"it is opened again", &part{state: stateOpening}, why, true},
		{"it has failed", &part{state: stateFailed, why: why}, nil, true},
		{"a follower's has failed", &part{state: stateFailed, why: why, follows: true}, nil, false},
		{"nobody has made the log", &part{state: stateWaiting}, nil, false},
		{"nobody is believed how it began", &part{state: stateWaiting, why: why}, nil, true},
		{"a follower believes nobody", &part{state: stateWaiting, why: why, follows: true}, nil, false},
	} {
		if got := c.p.unfit(c.before); (got != nil) != c.unfit {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
