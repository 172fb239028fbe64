package memory_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExercise(t *testing.T) {
	t.Parallel()
	transporttest.Exercise(t, func(_ *testing.T, names ...string) map[string]transport.Endpoint {
		n, nodes := memory.New(1), map[string]transport.Endpoint{}
		for _, name := range names {
			nodes[name] = n.Join(name)
		}
		return nodes
	})
}

// pair returns a network of a and b, and their lines.
func pair(t *testing.T, seed uint64) (n *memory.Network, a, b transport.Line) {
	t.Helper()
	n = memory.New(seed)
	return n, open(t, n.Join("a")), open(t, n.Join("b"))
}

func open(t *testing.T, e transport.Endpoint) transport.Line {
	t.Helper()
	l, err := e.Open("s")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func send(t *testing.T, l transport.Line, to, body string) {
	t.Helper()
	if err := l.Send(to, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// arrived waits until nothing is on its way, and returns all that came.
func arrived(l transport.Line) (all []string) {
	time.Sleep(time.Hour) // of the bubble
	for len(l.Inbox()) > 0 {
		all = append(all, string((<-l.Inbox()).Body))
	}
	return all
}

// The same seed meets the same faults, and another one others.
func TestFaultsFollowTheSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (got []string) {
		synctest.Test(t, func(t *testing.T) {
			n, a, b := pair(t, seed)
			n.SetFaults(memory.Faults{Loss: 0.2, Double: 0.2, Least: time.Millisecond, Most: 50 * time.Millisecond})
			for i := range 500 {
				send(t, a, "b", fmt.Sprint(i))
			}
			got = arrived(b)
		})
		return got
	}
	one := run(1)
	seen, doubled, overtaken := map[string]bool{}, 0, 0
	for i, body := range one {
		if seen[body] {
			doubled++
		}
		seen[body] = true
		if i > 0 && len(body) < len(one[i-1]) {
			overtaken++
		}
	}
	if lost := 500 - len(seen); lost < 60 || lost > 140 || doubled < 40 || doubled > 120 || overtaken == 0 {
		t.Errorf("%d lost, %d doubled, %d overtaken of 500; want a fifth of each, and some", lost, doubled, overtaken)
	}
	if fmt.Sprint(run(1)) != fmt.Sprint(one) {
		t.Error("the same seed met other faults")
	}
	if fmt.Sprint(run(2)) == fmt.Sprint(one) {
		t.Error("another seed met the same faults")
	}
}

func TestCuts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a, b := pair(t, 1)
		c := open(t, n.Join("c"))
		n.SetFaults(memory.Faults{Least: time.Second, Most: time.Second})
		send(t, a, "b", "under way when the line is cut")
		n.Cut("a", "b")
		send(t, a, "b", "over a cut line")
		send(t, b, "a", "the way back")
		if got, back := arrived(b), arrived(a); len(got) != 0 || len(back) != 1 {
			t.Errorf("over a cut way: %q, and back %q; want none and one", got, back)
		}
		n.Heal()
		n.Part([]string{"a", "c"}, []string{"b"})
		send(t, a, "b", "between groups")
		send(t, a, "c", "within one")
		if got, within := arrived(b), arrived(c); len(got) != 0 || len(within) != 1 {
			t.Errorf("parted: %q between the groups and %q within; want none and one", got, within)
		}
		n.Heal()
		n.Part([]string{"a", "b"})
		send(t, a, "c", "to one in no group")
		if got := arrived(c); len(got) != 0 {
			t.Errorf("a node in no group received %q", got)
		}
		n.Heal()
		send(t, a, "b", "healed")
		if got := arrived(b); len(got) != 1 {
			t.Errorf("healed: %q, want one", got)
		}
	})
}

// A node that starts again hears nothing that was meant for the one before, which is silent.
func TestARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, a, b := pair(t, 1)
		n.SetFaults(memory.Faults{Least: time.Second, Most: time.Second})
		send(t, a, "b", "under way")
		send(t, b, "a", "the last words")
		old := n.Join("x")
		again := open(t, n.Join("b"))
		send(t, a, "b", "to the new one")
		if err := b.Send("a", nil); err == nil {
			t.Error("the node before it still sends")
		}
		if got, was, last := arrived(again), len(b.Inbox()), arrived(a); len(got) != 1 || was != 0 || len(last) != 1 {
			t.Errorf("the new one received %q, the old one %d; the last words arrived: %q; want one, none and one", got, was, last)
		}
		n.Join("x")
		if _, err := old.Open("s"); err == nil {
			t.Error("a node that was replaced opens a line")
		}
	})
}

func TestExerciseRoaming(t *testing.T) {
	t.Parallel()
	transporttest.ExerciseRoaming(t, func(_ *testing.T, names ...string) map[string]transporttest.Roamer {
		n, nodes := memory.New(1), map[string]transporttest.Roamer{}
		for _, name := range names {
			key := sha256.Sum256([]byte(name))
			nodes[name] = transporttest.Roamer{Roamer: n.Roam(name, key), Address: name, Key: key, Kill: func() { n.Kill(name) }}
		}
		return nodes
	})
}

// links returns what a node is told, each "+" or "-" and the peer, after so much time.
func links(r *memory.Roamer, after time.Duration) (all string) {
	time.Sleep(after) // of the bubble
	synctest.Wait()
	for _, l := range r.Links() {
		all += map[bool]string{true: "+", false: "-"}[l.Up] + l.Peer
	}
	return all
}

// roamers returns nodes over slow lines on which a cut is noticed after four seconds.
func roamers(names ...string) (n *memory.Network, all map[string]*memory.Roamer) {
	n, all = memory.New(1), map[string]*memory.Roamer{}
	n.SetFaults(memory.Faults{Least: time.Millisecond, Most: 100 * time.Millisecond, Notice: 4 * time.Second})
	for _, name := range names {
		all[name] = n.Roam(name, [32]byte{})
	}
	return n, all
}

// A cut is noticed by both sides when its time has come, also if it is only in one direction; one that heals before is not.
func TestACutEndsConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, all := roamers("a", "b", "c")
		a, b, c := all["a"], all["b"], all["c"]
		a.Connect("b", "b")
		b.Connect("c", "c")
		if got := links(a, time.Second) + links(b, 0) + links(c, 0); got != "+b+c+a+b" && got != "+b+a+c+b" {
			t.Fatalf("connected: %s", got)
		}
		n.Cut("a", "b")
		if got := links(a, 3*time.Second) + links(b, 0); got != "" {
			t.Errorf("too early: %s", got)
		}
		n.Heal()
		n.Cut("a", "b")
		if got := links(a, 3*time.Second) + links(b, 0); got != "" {
			t.Errorf("too early, of the second cut: %s", got)
		}
		if got := links(a, 2*time.Second) + links(b, 0); got != "-b-a" {
			t.Errorf("noticed: %s, want both", got)
		}
		n.Heal()
		n.Part([]string{"a", "b"}, []string{"c"})
		if got := links(b, 5*time.Second) + links(c, 0); got != "-c-b" {
			t.Errorf("parted: %s, want both", got)
		}
		b.Connect("c", "")
		if got := links(b, 3*time.Second); got != "" {
			t.Errorf("over a cut line: %s, too early", got)
		}
		if got := links(b, 2*time.Second); got != "-c" {
			t.Errorf("over a cut line: %s", got)
		}
		b.Connect("c", "c")
		_ = links(b, time.Second)
		n.Heal()
		if got := links(b, 4*time.Second) + links(c, 0); got != "+c+b" {
			t.Errorf("healed while it was called: %s", got)
		}
	})
}

// A restart ends the connections of the node before; those who have not noticed are told so before they are told of the
// new one.
func TestARoamerRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, all := roamers("a", "b")
		a, old := all["a"], all["b"]
		line := open(t, a)
		a.Connect("b", "b")
		_ = links(a, time.Second)
		send(t, line, "b", "under way")
		again := n.Roam("b", [32]byte{1})
		n.SetFaults(memory.Faults{})
		at := open(t, again)
		again.Connect("a", "a")
		if got := links(a, time.Second) + links(again, 0); got != "-b+b+a" {
			t.Errorf("they were told %s, want the end of the first and the second", got)
		}
		send(t, line, "b", "to the new one")
		if got := arrived(at); fmt.Sprint(got) != "[to the new one]" {
			t.Errorf("the new one received %q", got)
		}
		old.Connect("a", "a")
		old.Disconnect("a")
		if got := links(old, time.Hour) + links(a, 0); len(old.Peers()) > 0 || got != "" {
			t.Errorf("the one before is connected with %q, and they were told %s", old.Peers(), got)
		}
	})
}

// What was sent over one connection does not arrive over the next.
func TestAMessageBelongsToItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, all := roamers("a", "b")
		a, b := all["a"], all["b"]
		from, to := open(t, a), open(t, b)
		a.Connect("b", "b")
		_ = links(a, time.Second)
		n.SetFaults(memory.Faults{Least: time.Second, Most: time.Second})
		send(t, from, "b", "under way")
		n.SetFaults(memory.Faults{})
		a.Disconnect("b")
		a.Connect("b", "b")
		if got := links(b, 0); got != "+a-a+a" {
			t.Errorf("b was told %s", got)
		}
		if got := arrived(to); len(got) > 0 {
			t.Errorf("b received %q over a connection that is no more", got)
		}
	})
}

// What was sent before a Disconnect arrives, however slow the line is, and the end comes after it.
func TestTheEndComesLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := roamers("a", "b")
		a, b := all["a"], all["b"]
		from, to := open(t, a), open(t, b)
		a.Connect("b", "b")
		_, _ = links(a, time.Second), links(b, 0)
		for range 100 {
			send(t, from, "b", "goodbye")
		}
		a.Disconnect("b")
		if got := links(b, time.Second); got != "-a" || len(to.Inbox()) != 100 {
			t.Errorf("b was told %s, and %d of 100 arrived", got, len(to.Inbox()))
		}
	})
}

// Both call at once over slow lines, whatever the order in which the calls arrive.
func TestCallsThatCross(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := roamers("a", "b")
		for range 100 {
			all["a"].Connect("b", "b")
			all["b"].Connect("a", "a")
			if got := links(all["a"], time.Second) + links(all["b"], 0); got != "+b+a" {
				t.Fatalf("they were told %s, want one Up each", got)
			}
			all["a"].Disconnect("b")
			if got := links(all["a"], time.Second) + links(all["b"], 0); got != "-a" {
				t.Fatalf("they were told %s, want the end at b", got)
			}
		}
	})
}

var _ transport.Roamer = (*memory.Roamer)(nil)
