package pgstore_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// rule decides whether a call takes another slot than the one that was taken last.
type rule func(taken, called, length time.Duration) bool

// slotFree is conch.slot_free; TestTheRuleIsTheDatabases shows that they are the same.
func slotFree(taken, called, length time.Duration) bool {
	return called-taken >= length*9/10 || taken-called >= length*9/10
}

// town is three machines with the same crontab and clocks of their own. Their calls are judged by the true time.
type town struct {
	length  time.Duration
	phase   time.Duration    // of the crontab: 0 12 * * * with a slot of a day calls in its middle
	wrong   [3]time.Duration // how far the clock of each machine is ahead
	longest time.Duration    // a command takes up to so long
	random  *rand.Rand
}

// call is one that cron makes for the slot that is meant.
type call struct {
	at      time.Duration
	machine int
	slot    int
}

// calls returns the calls of some slots in their order. Some machines are down, never all of them.
func (w *town) calls(slots int) (all []call) {
	for slot := range slots {
		up := 1 + w.random.IntN(7) // a bit for each machine
		for machine, ahead := range w.wrong {
			if up>>machine&1 == 1 {
				late := time.Duration(w.random.Int64N(int64(100 * time.Millisecond))) // until the program has begun
				all = append(all, call{time.Duration(slot+1)*w.length + w.phase - ahead + late, machine, slot})
			}
		}
	}
	for i := range all {
		for j := i; j > 0 && all[j].at < all[j-1].at; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

// run returns how many slots were run more than once, and how many not at all. Nobody runs a command while another one does.
func (w *town) run(free rule, slots int) (doubled, missed int) {
	ran := make([]int, slots)
	taken, over := -10*w.length, -10*w.length
	for _, c := range w.calls(slots) {
		if c.at < over || !free(taken, c.at, w.length) {
			continue
		}
		taken, over = c.at, c.at+time.Duration(w.random.Int64N(int64(w.longest)))
		ran[c.slot]++
	}
	for _, n := range ran {
		switch {
		case n > 1:
			doubled++
		case n == 0:
			missed++
		}
	}
	return doubled, missed
}

// Three crontabs whose clocks differ by less than a tenth of a slot run each slot once. What one would do first does not.
func TestEachSlotIsRunOnce(t *testing.T) {
	t.Parallel()
	const towns, slots, length = 400, 60, 5 * time.Minute
	for _, c := range []struct {
		name         string
		free         rule
		apart        time.Duration // the clocks are wrong by up to
		phase        time.Duration
		doubles, not bool
	}{
		{"the rule", slotFree, 5 * time.Second, 0, false, false},
		{"the rule, in the middle of a slot", slotFree, 5 * time.Second, length / 2, false, false},
		{"the rule, at its limit", slotFree, length/20 - 100*time.Millisecond, 0, false, false},
		{"the lock alone", func(_, _, _ time.Duration) bool { return true }, 5 * time.Second, 0, true, false},
		{"the clock, divided by the slot", func(taken, called, length time.Duration) bool { return called/length != taken/length }, 5 * time.Second, 0, true, true},
		{"the nearest boundary, in the middle of a slot", func(taken, called, length time.Duration) bool {
			return (called+length/2)/length != (taken+length/2)/length
		}, 5 * time.Second, length / 2, true, true},
		{"a whole slot ago", func(taken, called, length time.Duration) bool { return called-taken >= length }, 5 * time.Second, 0, false, true},
		{"half a slot ago, with clocks that are wrong by more", func(taken, called, length time.Duration) bool { return called-taken >= length/2 }, length * 2 / 5, 0, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var doubled, missed int
			for seed := range uint64(towns) {
				w := &town{length: length, phase: c.phase, longest: time.Minute, random: rand.New(rand.NewPCG(46, seed))}
				for machine := range w.wrong {
					w.wrong[machine] = time.Duration(w.random.Int64N(int64(2*c.apart))) - c.apart
				}
				d, m := w.run(c.free, slots)
				doubled, missed = doubled+d, missed+m
			}
			t.Logf("of %d slots %d were doubled and %d missed", towns*slots, doubled, missed)
			if doubled > 0 != c.doubles || missed > 0 != c.not {
				t.Errorf("%d doubled and %d missed; want doubled %v, missed %v", doubled, missed, c.doubles, c.not)
			}
		})
	}
}
