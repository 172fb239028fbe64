package gossip_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
)

// A leader that is frozen for 40 seconds, and wakes with a full inbox, does not go on to lead: it listens first, and
// follows the one that has come after it. Nobody else changes its mind.
func TestAFrozenLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 5)
		first := s.agree(2 * time.Second)
		var others []*node
		for _, n := range s.nodes {
			if n != first {
				others = append(others, n)
			}
		}
		first.freeze()
		s.within(1200*time.Millisecond, "the others have another leader", func() bool { l := s.leader(others...); return l != nil && l != first })
		second := s.leader(others...)
		pass(40 * time.Second)
		before := map[*node]int{}
		for _, n := range others {
			before[n] = len(told[gossip.Leader](n))
		}
		if st := first.status(); st.Leads || st.Leader != (gossip.Node{}) {
			t.Errorf("while it stands still it is said to lead: %+v", st)
		}
		first.thaw()
		pass(time.Millisecond)
		if st := first.status(); st.Leads || st.State != "listening" {
			t.Errorf("it is %v, and leads: %v", st.State, st.Leads)
		}
		s.within(time.Second, "it follows", func() bool { return s.leader() == second })
		pass(5 * time.Second)
		for _, n := range others {
			if now := told[gossip.Leader](n); len(now) != before[n] {
				t.Errorf("%s was told of %+v", n.name, now[before[n]:])
			}
		}
	})
}

// What waited while a process was frozen cannot be dated. The leader has died meanwhile; its heartbeats in the inbox are
// not taken for new ones.
func TestAFrozenFollowerBelievesNoDeadLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(3, 3)
		first := s.agree(2 * time.Second)
		frozen := s.nodes[0]
		if frozen == first {
			frozen = s.nodes[1]
		}
		frozen.freeze()
		pass(10 * time.Second)
		first.kill()
		pass(30 * time.Second)
		before := len(told[gossip.Leader](frozen))
		frozen.thaw()
		s.within(2*time.Second, "the two that are left have a leader", func() bool { return s.leader() != nil })
		for _, e := range told[gossip.Leader](frozen)[before:] {
			if e.Leader.Name == first.name {
				t.Errorf("it believes in a leader that has been dead for half a minute: %+v", e)
			}
		}
		if n := frozen.agent.Status().Counts.Undated; n == 0 {
			t.Error("nothing waited: the test shows nothing")
		}
	})
}

// A node that stood still for less than a validity reads what has come meanwhile before it lets time pass: else it would
// miss a leader that is there.
func TestTimePassesAfterWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(4, 3)
		s.agree(5 * time.Second)
		n := s.node("n4") // it hears the leader once a second, and keeps it for eight
		for range 20 {
			n.freeze()
			pass(7960 * time.Millisecond)
			n.thaw()
			pass(3130 * time.Millisecond)
		}
		// What has become of connections comes first, and may show once or twice that the leader is late.
		if st := n.status(); st.Changes > 5 {
			t.Errorf("it has changed its leader %d times: %+v", st.Changes, told[gossip.Leader](n))
		}
	})
}

// A node whose contact is down for some seconds when it starts does not name itself meanwhile: the leader of the others
// could be deposed by it. One that finds nobody for ten seconds does.
func TestANodeLooksForItsContactsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(2, 0)
		first := s.agree(10 * time.Second)
		first.kill()
		second := s.agree(14 * time.Second)
		first.start()
		s.net.Part([]string{"n1"}, []string{"n2"})
		before := len(told[gossip.Leader](first))
		pass(6 * time.Second)
		s.net.Heal()
		pass(20 * time.Second)
		if all := told[gossip.Leader](first)[before:]; len(all) != 1 || all[0].Leader.Name != second.name {
			t.Errorf("it was told %+v", all)
		}
		first.kill()
		first.start()
		s.net.Part([]string{"n1"}, []string{"n2"})
		pass(11 * time.Second)
		if !first.status().Leads {
			t.Errorf("it has found nobody, and does not lead: %+v", first.status())
		}
	})
}

// A node comes back with an older clock, and without a file that has its last incarnation. It hears what its last life has
// said, and is heard again.
func TestRestartWithAnOlderClock(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(5, 0)
		s.agree(10 * time.Second)
		n := s.node("n5")
		if err := n.agent.Publish("site", "flag", []byte("first life")); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		n.kill()
		n.startAt(time.Now().AddDate(-1, 0, 0))
		pass(5 * time.Second)
		if err := n.agent.Publish("site", "flag", []byte("second life")); err != nil {
			t.Fatal(err)
		}
		s.within(time.Second, "all hear its second life", func() bool {
			for _, o := range s.nodes {
				if news := told[gossip.News](o); o != n && (len(news) == 0 || string(news[len(news)-1].Body) != "second life") {
					return false
				}
			}
			return true
		})
	})
}

// The file keeps the incarnation of a start above those of all before, whatever the clock says.
func TestTheStateFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "incarnation")
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var last uint64
	for i, wall := range []time.Time{now, now.AddDate(-10, 0, 0), now.AddDate(-10, 0, 0), {}, now.AddDate(1, 0, 0)} {
		next, err := gossip.Incarnate(file, wall)
		if err != nil {
			t.Fatal(err)
		}
		if next <= last {
			t.Errorf("start %d has the incarnation %d, which is not above %d", i+1, next, last)
		}
		text, err := os.ReadFile(file)
		if want := next; err != nil || gossip.ReadNumber(string(text)) != want {
			t.Errorf("start %d runs with %d, and the file has %q (%v)", i+1, next, text, err)
		}
		last = next
	}
	one, _ := gossip.Incarnate("", now)
	two, _ := gossip.Incarnate("", now)
	if one == two {
		t.Error("two hosts that start in one instant have one incarnation")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("drafts are left: %v %v", entries, err)
	}
}

// A disk that takes nothing more keeps no node from taking part: its incarnation is above the last one, and people are told.
func TestAStateFileOnAFullDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "incarnation")
	last, err := gossip.Incarnate(file, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if next, goesOn := gossip.IncarnateFull(file, time.Unix(1, 0), &os.PathError{Op: "write", Path: file, Err: full}); !goesOn || next <= last {
			t.Errorf("%v: it goes on is %v, with %d after %d", full, goesOn, next, last)
		}
	}
	if _, goesOn := gossip.IncarnateFull(file, time.Now(), fs.ErrPermission); goesOn {
		t.Error("it goes on where it may not write")
	}
}

// A file that cannot be used is named, and not replaced.
func TestABadStateFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"damaged": "12x\n", "empty": "", "full": "18446744073709551615\n"} {
		file := filepath.Join(t.TempDir(), "incarnation")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if next, err := gossip.Incarnate(file, time.Now()); err == nil {
			t.Errorf("%s: it begins with %d", name, next)
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != text {
			t.Errorf("%s: the file was replaced by %q (%v)", name, left, err)
		}
	}
	if _, err := gossip.Incarnate(filepath.Join(t.TempDir(), "none", "incarnation"), time.Now()); err == nil {
		t.Error("it begins without having stored its incarnation")
	}
}

// A reader of events that does not return costs the loop nothing. When it returns it is told of the leader of now.
func TestASlowReader(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		var slow *node
		gate := make(chan struct{})
		s.change = func(c *gossip.Config) {
			if tell := c.Tell; c.Transport.Self() == "n3" {
				c.Tell = func(e gossip.Event) { <-gate; tell(e) }
			}
		}
		s.crowd(5, 0)
		slow = s.node("n3")
		first := s.agree(10 * time.Second)
		if first == slow {
			slow.agent.Withdraw("site", nil)
			first = s.agree(10 * time.Second)
		}
		for i := range 2000 {
			if err := s.nodes[i%2].agent.Publish("site", "flag", []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			pass(5 * time.Millisecond)
		}
		first.kill()
		second := s.agree(14 * time.Second)
		close(gate)
		pass(time.Second)
		all := told[gossip.Leader](slow)
		if len(all) == 0 || all[len(all)-1].Leader.Name != second.name {
			t.Errorf("the last leader that it was told of is not %s: %+v", second.name, all)
		}
		if m := told[gossip.Missed](slow); len(m) != 1 || m[0].Events < 500 {
			t.Errorf("it was not told that it missed something: %+v", m)
		}
	})
}
