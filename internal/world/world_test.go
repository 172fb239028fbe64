package world_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// No two events share an instant, and events run in the order of their instants.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := world.New(1, nil)
	var at []time.Duration
	for range 500 {
		w.After(time.Duration(w.Pick(50)), func() { at = append(at, w.Now()) })
	}
	for w.Step() {
	}
	if len(at) != 500 || !slices.IsSorted(at) || len(slices.Compact(slices.Clone(at))) != 500 {
		t.Errorf("%d events ran at %v, want 500 at different instants in order", len(at), at)
	}
}

// When is the inverse of At, to the nanosecond, at any speed.
func TestClock(t *testing.T) {
	t.Parallel()
	w := world.New(2, nil)
	for range 2000 {
		c := w.NewClock(int64(w.Between(0, 1000*time.Hour)), int64(w.Pick(40_001)-20_000))
		w.After(w.Between(0, time.Minute), func() {})
		w.Step()
		reading := c.Read() + int64(w.Between(-10*time.Hour, 10*time.Hour))
		at := c.When(reading)
		if c.At(at) < reading || c.At(at-1) >= reading {
			t.Fatalf("the clock reads %d at %s and %d just before, want %d there first", c.At(at), at, c.At(at-1), reading)
		}
	}
}

// A clock that runs ten times as fast, as those of gossip without electors do, and one that hardly runs say for years when it is what they read.
func TestClocksFarFromTrue(t *testing.T) {
	t.Parallel()
	w := world.New(1, nil)
	for _, ppm := range []int64{11_000_000, 9_000_000, 1_000_000, 0, -500_000, -900_000} {
		c := w.NewClock(int64(20*time.Hour), ppm)
		for d := time.Millisecond; d < 20_000*time.Hour; d = 3*d + 1 {
			reading := c.At(d)
			if want := int64(20*time.Hour) + int64(float64(d)*(1+float64(ppm)/1e6)); max(reading-want, want-reading) > 1+want/1e12 {
				t.Errorf("a clock that is %d ppm fast reads %d after %v, want %d", ppm, reading, d, want)
			}
			if when := c.When(reading); c.At(when) < reading || when > d || c.At(when-1) >= reading {
				t.Errorf("a clock that is %d ppm fast reads what it reads after %v first after %v", ppm, d, when)
			}
		}
	}
}

// A clock that was halted goes on from its reading, and a change of speed does not make it jump.
func TestClockHalts(t *testing.T) {
	t.Parallel()
	w := world.New(3, nil)
	c := w.NewClock(1000, 0)
	pass := func(d time.Duration) {
		w.After(d, func() {})
		w.Step()
	}
	pass(100)
	c.Halt()
	pass(1000)
	if c.Read() != 1100 || c.When(1100) != 0 || c.When(1101) != world.Never {
		t.Errorf("halted at 1100 the clock reads %d", c.Read())
	}
	c.Go()
	pass(10)
	c.SetSpeed(20_000)
	if c.Read() != 1110 {
		t.Errorf("after Go the clock reads %d, want 1110", c.Read())
	}
	pass(1000)
	if c.Read() != 2130 {
		t.Errorf("2 %% fast the clock reads %d, want 2130", c.Read())
	}
}

// A pipe keeps the order of its messages, whatever the delays.
func TestPipe(t *testing.T) {
	t.Parallel()
	w := world.New(4, nil)
	n := w.NewNetwork(time.Second)
	broke := 0
	for range 200 {
		p := n.NewPipe("a", "b", func() { broke++ })
		var got []int
		for i := range 30 {
			p.Send(func() { got = append(got, i) })
		}
		for w.Step() {
		}
		for i, v := range got {
			if i != v {
				t.Fatalf("the messages arrived in the order %v", got)
			}
		}
	}
	if broke == 0 {
		t.Error("no pipe lost a message")
	}
}

// A message that is retransmitted during a cut arrives after Heal.
func TestCut(t *testing.T) {
	t.Parallel()
	w := world.New(5, nil)
	n := w.NewNetwork(time.Second)
	n.Cut("a", "b")
	late := 0
	for range 100 {
		n.NewPipe("a", "b", nil).Send(func() { late++ })
		n.Tell("a", "b", func() { t.Error("a datagram crossed the cut") })
	}
	for w.Step() {
	}
	if late != 0 || !n.IsCut("a", "b") || n.IsCut("b", "a") {
		t.Fatalf("%d messages crossed the cut, want 0", late)
	}
	n.Calm([]string{"a", "b"})
	for w.Step() {
	}
	if late == 0 || late == 100 {
		t.Errorf("%d of 100 messages arrived after Heal, want some but not all", late)
	}
}

// What is lost on a stream is sent again after a pause and then after twice as long, and nothing overtakes it. While it waits for that
// nothing else is lost.
func TestStream(t *testing.T) {
	t.Parallel()
	var s world.Stream
	left := 2
	lost := func() bool { left--; return left >= 0 }
	s.Loses(100, 10, 1000, lost)
	if s.Stalls(125) != 25 || s.Stalls(130) != 0 || s.Arrives(105) != 131 {
		t.Errorf("it stalls for %d until %d", s.Stalls(125), s.Arrives(105)-1)
	}
	s.Loses(120, 10, 1000, func() bool { t.Error("something is lost behind what waits"); return false })
	if at := s.Arrives(125); at != 132 {
		t.Errorf("what is sent meanwhile arrives at %d, want 132", at)
	}
	left = 9
	s.Loses(200, 10, 40, lost) // after the second time the pause is the longest one
	if at := s.Arrives(201); at != 231 {
		t.Errorf("it arrives at %d, want 231", at)
	}
}

// Again does something at once or later, as often as it says, and ends when it says 0.
func TestAgain(t *testing.T) {
	t.Parallel()
	w := world.New(1, nil)
	var at []time.Duration
	for _, first := range []time.Duration{0, 7} {
		pause := time.Duration(20)
		w.Again(first, func() time.Duration {
			at = append(at, w.Now())
			pause -= 10
			return pause
		})
	}
	w.Until(time.Second)
	if !slices.Equal(at, []time.Duration{0, 7, 10, 17}) {
		t.Errorf("it was done at %v, want 0, 7, 10 and 17", at)
	}
}

// Of each hundred that are drawn by weight each has its share.
func TestWeighed(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for i := range 100 {
		pick := func(n int) int { return i * n / 100 }
		count[world.Weighed(pick, []string{"a", "", "ccc"}, func(s string) int { return len(s) })]++
	}
	if count["a"] != 25 || count[""] != 0 || count["ccc"] != 75 {
		t.Errorf("they were drawn %v times", count)
	}
}
