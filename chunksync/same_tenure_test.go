package chunksync

import (
	"context"
	"errors"
	"testing"
)

// A leader whose folder was replaced while it kept its token goes on behind what its followers hold
// of it. Otherwise its next versions would be old to them, and count as held.
func TestALeaderThatBeginsAgainWithItsToken(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one := tm.nodes[0]
	first := one.lead(1)
	for _, name := range []string{"a", "b", "c"} {
		one.mustPut(name, []byte(name), 2)
	}
	_ = first.end()
	_ = one.store.Close()
	one.dir = t.TempDir()
	one.start()
	one.lead(1)
	one.mustPut("d", []byte("d"), 2)
	for _, n := range tm.nodes {
		for _, name := range []string{"a", "b", "c", "d"} {
			if !n.has(name, []byte(name)) {
				t.Errorf("%s was acknowledged by all, and %s does not have it", name, n.id)
			}
		}
	}
}

// If a follower holds more of a leader's own versions than the leader does, that leader has lost
// some. It ends, before the next ones count as held.
func TestALeaderThatHasLostItsOwnVersions(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	for s, seq := range map[*Store]int64{one.store: 1, two.store: 5} {
		if _, _, err := s.take(catalog{Tenure: l.tenure, Seq: seq}, one.id, false); err != nil {
			t.Fatal(err)
		}
	}
	if in, ok := l.perform(t.Context(), offer{two.id, Version{1, 1}}).(deposed); !ok || !errors.Is(context.Cause(l.over), ErrDamaged) {
		t.Errorf("the offer: got %+v, and the leadership ended with %v, want deposed and ErrDamaged", in, context.Cause(l.over))
	}
}
