package majority

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The loss of a leader is noticed after three missed beats, and the members' second one leads within five rounds, over
// links of 1 to 20 ms.
func TestNewLeaderWithinFiveRounds(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	terms := 0
	for seed := range uint64(seeds(40)) {
		w := newWorld(t, seed, 5)
		w.until(12, "somebody leads", func() bool { return w.leader() != nil })
		w.run(10 * round)
		l := w.leader()
		l.crash()
		term := l.term
		all = append(all, w.until(10, "another one leads", func() bool { return w.leader() != nil }))
		terms += int(w.leader().term - term)
	}
	if terms > len(all)+len(all)/10 {
		t.Errorf("%d terms for %d elections: members campaign against each other", terms, len(all))
	}
	slices.Sort(all)
	t.Log("half", all[len(all)/2], "last", all[len(all)-1])
	if p99 := all[len(all)*99/100]; p99 > 5*round+round/2 {
		t.Errorf("a new leader after %v", p99)
	}
}

// Members campaign in the order of their names, and the suggested one first.
func TestSuggestedFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(20)) {
		w := newWorld(t, seed, 5)
		w.until(12, "somebody leads", func() bool { return w.leader() != nil })
		if l := w.leader(); l.name != "a" {
			t.Errorf("seed %d: %s leads, and nobody is suggested", seed, l.name)
		}
		w.run(5 * round)
		for _, n := range w.nodes {
			n.step(Suggested{Name: "d"})
		}
		w.most = 0 // one that has stored less than the others cannot lead
		w.run(20 * round)
		if l := w.leader(); l.name != "a" {
			t.Errorf("seed %d: a suggestion has deposed a leader that is heard", seed)
		}
		w.node("a").crash()
		w.until(10, "another one leads", func() bool { return w.leader() != nil })
		if l := w.leader(); l.name != "d" {
			t.Errorf("seed %d: %s leads, and d is suggested", seed, l.name)
		}
	}
}

// A minority that is suggested, or has lost the leader, deposes nobody, and the term does not grow.
func TestMinorityDeposesNobody(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(10)) {
		w := newWorld(t, seed, 5)
		w.until(12, "somebody leads", func() bool { return w.leader() != nil })
		l := w.leader()
		w.run(5 * round)
		term := l.m.Snapshot().Term
		for _, n := range w.nodes {
			n.step(Suggested{Name: "e"})
			n.step(Campaign{})
		}
		w.apart("d", "e")
		w.run(50 * round)
		w.heal()
		w.run(20 * round)
		for _, n := range w.nodes {
			if s := n.m.Snapshot(); s.Term != term || s.Leader != l.name {
				t.Errorf("seed %d: %s is in term %d of %q; before it was %d of %s", seed, n.name, s.Term, s.Leader, term, l.name)
			}
		}
	}
}

// A leader that no majority answers steps down, also if it can still send.
func TestDeafLeaderStepsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 5)
	w.until(12, "somebody leads", func() bool { return w.leader() != nil })
	l := w.leader()
	w.run(5 * round)
	w.cut = func(_, to string) bool { return to == l.name }
	w.until(2*electionTicks+10, "another one leads", func() bool { n := w.leader(); return n != nil && n != l })
}

// A leader that has died and asks for votes at once does not lead: what it asks is no beat, however often it asks.
func TestCandidateIsNoLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.until(12, "somebody leads", func() bool { return w.leader() != nil })
	w.run(5 * round)
	l := w.leader()
	l.crash()
	l.start()
	w.until(12, "somebody leads again", func() bool {
		l.step(Campaign{})
		return w.leader() != nil
	})
}

// A leader that has stepped down listens for three rounds before it campaigns: another one may lead.
func TestDeposedListens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(5 * round)
	a := w.node("a")
	w.apart("a")
	w.node("b").paused, w.node("c").paused = true, true
	w.until(2*electionTicks+2, "it steps down", func() bool { return !a.m.Snapshot().Leading })
	sent := w.messages
	w.run(2 * round)
	if w.messages != sent {
		t.Error("it campaigns at once")
	}
	w.until(5, "it campaigns", func() bool { return w.messages != sent })
}

// The same seed gives the same run: nothing hangs on the library's chance, which is not seeded.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	trace := func(seed uint64) string {
		w := newWorld(t, seed, 5)
		w.traced, w.loss, w.twice, w.crashes = true, 0.05, 0.05, 0.002
		storm(w, 30)
		return strings.Join(w.trace, "\n")
	}
	for seed := range uint64(seeds(2)) {
		first := trace(seed)
		for range 2 {
			if again := trace(seed); again != first {
				a, b := strings.Split(first, "\n"), strings.Split(again, "\n")
				i := 0
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				t.Fatalf("seed %d: the runs part at step %d:\n%s\n%s", seed, i, at(a, i), at(b, i))
			}
		}
		if trace(seed+100) == first {
			t.Fatalf("seeds %d and %d give the same run", seed, seed+100)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return fmt.Sprint("(the end, at ", i, ")")
}

// With one of three left nothing moves on, and the status says what a person can do. With two it goes on.
func TestOneOfThreeLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 3)
	w.until(12, "somebody leads", func() bool { return w.leader() != nil })
	w.run(10 * round)
	w.leader().crash()
	w.until(12, "another one leads", func() bool { return w.leader() != nil })
	w.run(10 * round)
	w.leader().crash()
	var left *node
	for _, n := range w.nodes {
		if n.m != nil {
			left = n
			if advice := n.m.Snapshot().Advice; advice != "" {
				t.Errorf("advice although nothing is wrong: %s", advice)
			}
		}
	}
	w.run(5 * round)
	committed, term := left.m.Snapshot().Committed.Index, left.m.Snapshot().Term
	w.run(200 * round)
	s := left.m.Snapshot()
	if s.Committed.Index != committed || s.Term != term || s.Leader != "" {
		t.Errorf("one of three goes on: %+v", s)
	}
	if !strings.Contains(s.Advice, "conch log recover") || !strings.Contains(s.Advice, "1 of 3 members") {
		t.Errorf("it advises %q", s.Advice)
	}
	for _, n := range w.nodes {
		if n.m == nil {
			n.start()
			break
		}
	}
	w.until(60, "two of three go on", func() bool { return left.m.Snapshot().Committed.Index > committed })
	if s := left.m.Snapshot(); s.Advice != "" {
		t.Errorf("it still advises %q", s.Advice)
	}
}
