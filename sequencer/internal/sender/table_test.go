package sender

import (
	"slices"
	"testing"
)

// Every event in every state is named once, and does one thing.
func TestTheTableNamesEveryPair(t *testing.T) {
	t.Parallel()
	table := newTable()
	for e := range events {
		for s := range states {
			c := table[e][s]
			kinds := 0
			for _, is := range []bool{c.do != nil, c.ignored != "", c.refused != 0} {
				if is {
					kinds++
				}
			}
			if c.named != 1 || kinds != 1 || (c.do != nil) != (len(c.next) > 0) {
				t.Errorf("%q when %v: named %d times, %d kinds, next %v", e, s, c.named, kinds, c.next)
			}
		}
	}
}

// watch fails the test if an event leaves an intent in a state that the table does not name.
func watch(t testing.TB, m *Machine) {
	m.cfg.Watch = func(p Passage) {
		e := slices.Index(eventNames[:], p.Event)
		if !slices.Contains(m.table[e][p.From].next, p.To) {
			t.Errorf("%q brings an intent from %v to %v, and the table says %v", p.Event, p.From, p.To, m.table[e][p.From].next)
		}
	}
}
