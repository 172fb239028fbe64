package memory_test

import (
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
