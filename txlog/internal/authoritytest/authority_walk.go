package authoritytest

import (
	"fmt"
	"math/rand/v2"
)

// walk is what happens to three members at random: which are down, and which are cut off.
type walk struct {
	*stage
	dice  *rand.Rand
	down  string
	apart string
	n     int
}

// anything: leaders change, members crash and are cut off, at random.
func anything(s *stage) {
	for seed := range uint64(3) {
		s.note("seed %d", seed)
		w := &walk{stage: s, dice: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a repetition must draw the same
		for range 40 {
			w.step()
			s.hear()
		}
		w.heal()
		w.last(seed)
	}
	if s.judge.Committed() < 20 {
		s.t.Errorf("only %d entries were committed", s.judge.Committed())
	}
}

// last has an entry committed, and all know it. Who leads in a term that is over may not have heard of that yet: then another one
// is to lead.
func (w *walk) last(seed uint64) {
	name := Names[w.dice.IntN(3)]
	for {
		h := w.judge.Of(name)
		if !h.Leads {
			w.lead(name)
		}
		r := w.append(name, goal(fmt.Sprintf("last of seed %d", seed)))[0]
		w.until("the last entry is committed, or its leader deposed", func() bool { return w.everybody(r.Index)() || !h.Leads })
		if h.Leads {
			w.all(r)
			return
		}
	}
}

func (w *walk) heal() {
	if w.apart != "" {
		w.part()
		w.apart = ""
	}
	if w.down != "" {
		w.start(w.down)
		w.down = ""
	}
}

func (w *walk) step() {
	name := Names[w.dice.IntN(3)]
	whole := w.down == "" && w.apart == ""
	switch what := w.dice.IntN(10); {
	case what == 0 && whole:
		w.crash(name)
		w.down = name
	case what == 1 && whole:
		w.part(name)
		w.apart = name
	case what == 2 && !whole:
		w.heal()
	case what == 3 && name != w.down:
		w.confirm(name)
	case what <= 5 && name != w.down && name != w.apart && !w.judge.Of(name).Leads:
		w.lead(name)
	default:
		for _, leader := range Names {
			if leader != w.down && w.judge.Of(leader).Leads {
				w.n++
				w.append(leader, goal(fmt.Sprintf("%d of %s", w.n, leader)), goal(fmt.Sprintf("%d of %s again", w.n, leader)))
			}
		}
	}
}
