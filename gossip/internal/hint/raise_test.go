package hint

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A candidate that comes before this node and does not lead is waited for, but not for ever; and one that leads without a reign, since it was
// alone, leads on, though this node comes before it. Above the last reign nobody raises one.
func TestWhenANodeRaisesAReign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hears string
		top   uint64
		leads bool
	}{
		"one that stands, and does not lead": {hears: "a seniority=9", leads: true},
		"one that leads without a reign":     {hears: "a leads"},
		"nobody that could":                  {hears: "a rests", leads: true},
		"the last reign is over":             {hears: "a rests", top: wire.MostReign},
	} {
		s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
		led, last := false, 0
		s.watch = func(a Action) {
			switch a := a.(type) {
			case Suggested:
				led = led || a.Self
			case Refused:
				if errors.Is(a.Why, ErrLastReign) {
					last++
				}
			}
		}
		for _, line := range slices.Concat([]string{"with", "peers a", "seniority 5"}, slices.Repeat([]string{c.hears, "wait 1"}, 60)) {
			s.tell(strings.Fields(line))
			s.machine().order[0].top = max(s.machine().order[0].top, c.top)
		}
		if led != c.leads || (last == 1) != (c.top > 0) {
			t.Errorf("%s: it has led %v, and says %d times that there is no reign left", name, led, last)
		}
	}
}

// A node that may find others yet does not name itself before that time is over.
func TestANodeAloneWaits(t *testing.T) {
	t.Parallel()
	const alone = 10 * time.Second
	m := New(Config{Self: named("z"), Incarnation: 1, Alone: alone, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}}})
	for now := time.Duration(0); now < 2*alone; now += 50 * time.Millisecond {
		m.Step(now, Tick{})
		if leads := m.Suggestion("site").Self; leads != (now >= alone) && now > alone+time.Second || leads && now < alone {
			t.Fatalf("after %v it names itself: %v", now, leads)
		}
	}
}

// What is kept no more is known for a while, also when what is known is counted anew meanwhile.
func TestAnOldWordIsKnownForAWhile(t *testing.T) {
	t.Parallel()
	var k memory
	said := wire.Said{Statement: wire.Statement{Subject: named("a"), Incarnation: 1, Sequence: 1, Topic: "t"}}
	const while = time.Minute
	k.noteWord(wire.Name{1}, life{1, 1}, 0, while)
	k.noteWord(said.Key().Name(), life{1, 1}, while-1, while)
	k.noteWord(wire.Name{2}, life{1, 1}, while, while) // the others are the old ones now
	if !k.knowsWord(&said) {
		t.Error("it is not known a moment later")
	}
	k.noteWord(wire.Name{3}, life{1, 1}, 4*while, while)
	if k.knowsWord(&said) {
		t.Error("it is known for ever")
	}
}
