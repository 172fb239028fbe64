package sender

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// chaos lets everything happen that may.
func (w *world) chaos(steps int) {
	for range steps {
		if w.fault != "" {
			return
		}
		w.now += time.Duration(w.rng.IntN(60)) * time.Millisecond
		if w.chance(2) { // a long silence
			w.now += time.Duration(w.rng.IntN(3000)) * time.Millisecond
		}
		w.step(Tick{})
		for _, c := range w.coords {
			if w.chance(60) {
				c.work()
			}
			if w.chance(4) {
				c.lie()
			}
		}
		for range w.rng.IntN(6) {
			w.carry()
		}
		if len(w.stores) > 0 && w.chance(60) {
			w.step(Stored{ID: w.commit()})
		}
		for len(w.feed) > 0 && w.chance(70) {
			w.next()
		}
		if len(w.judges) > 0 && w.chance(40) {
			w.answerJudge()
		}
		switch w.rng.IntN(40) {
		case 0, 1, 2, 3:
			w.submit()
		case 4, 5, 6:
			w.produce(50)
		case 7:
			if w.chance(30) {
				w.rewind()
			}
		case 8:
			if w.chance(25) {
				w.crash(w.restores && w.chance(30))
			}
		case 9:
			if len(w.users) > 0 {
				w.cancel(w.users[w.rng.IntN(len(w.users))])
			}
		case 10:
			if w.chance(20) {
				w.backup = w.disk.clone()
			}
		}
	}
}

func (w *world) cancel(u *told) {
	if u.accepted && len(u.names) > 0 {
		u.excused = true
		w.step(Cancel{Sequence: u.names[len(u.names)-1]})
	}
}

// carry delivers one message, or loses or doubles it.
func (w *world) carry() {
	if len(w.packets) == 0 {
		return
	}
	at := 0
	if !w.calm {
		at = w.rng.IntN(min(len(w.packets), 8))
	}
	p := w.packets[at]
	if w.calm || !w.chance(8) {
		w.packets = slices.Delete(w.packets, at, at+1)
	}
	if !w.calm && w.chance(8) {
		return
	}
	switch {
	case p.pulse != nil:
		w.step(*p.pulse)
	case p.to == self:
		w.step(Received{From: p.from, Message: p.msg})
	default:
		for _, c := range w.coords {
			if c.account == p.to {
				c.receive(p.msg)
			}
		}
	}
}

// produce makes a block of some of what was ever sent: in the pool nothing is ever gone.
func (w *world) produce(percent int) {
	var sent []ledger.Sent
	for _, s := range w.pool {
		if w.chance(percent) {
			sent = append(sent, s)
		}
	}
	w.fresh = len(w.pool)
	w.mine(sent...)
}

// settle ends all faults, and reports what is still open after a while.
func (w *world) settle() {
	w.calm = true
	block := w.now
	quiet := func(rounds int) {
		for range rounds {
			if w.fault != "" || w.m.Idle() && len(w.packets) == 0 {
				return
			}
			w.now += 50 * time.Millisecond
			w.step(Tick{})
			for _, c := range w.coords {
				c.work()
			}
			for n := len(w.packets); n > 0; n-- {
				w.carry()
			}
			for len(w.stores) > 0 {
				w.step(Stored{ID: w.commit()})
			}
			if w.nudged || !w.demand && w.now-block > time.Second || w.demand && w.fresh < len(w.pool) {
				w.nudged, block = false, w.now
				w.produce(100)
			}
			for len(w.feed) > 0 {
				w.next()
			}
			for len(w.judges) > 0 {
				w.answerJudge()
			}
		}
	}
	quiet(1600)
	for _, s := range w.m.Snapshot() {
		u := w.byKey[s.Key]
		words := strings.Fields(u.payload)
		_, there := first(w.book.Labelled(words[1], 0))
		if s.State > Accepted || words[0] == "make" || there {
			w.failf("I2: %s (%s) is still %v since %q, in coordinators' hands: %v", s.Key, u.payload, s.State, s.Why, w.whereIs(s.Sequence))
		}
		u.excused = true
		w.step(Cancel{Sequence: s.Sequence})
	}
	quiet(1200)
	for _, u := range w.users {
		if u.accepted && !u.lost && !u.settled {
			w.failf("I2: %s (%s) never ends", u.key, u.payload)
		}
	}
	if len(w.owed) > 0 {
		w.failf("I10: without an answer: %v", w.owed)
	}
	if w.fault == "" && !w.m.Idle() {
		w.failf("I9: it is not idle: %v", w.m.Snapshot())
	}
}

func (w *world) whereIs(s ledger.Sequence) (all []string) {
	for _, c := range w.coords {
		if h := c.find(s); h != nil {
			all = append(all, fmt.Sprintf("%s sent %v after %v", c.account, h.sent, h.after))
		}
	}
	return all
}

// run returns what is wrong in one world, empty if nothing is.
func run(t testing.TB, seed uint64) string {
	w := newWorld(t, seed)
	w.chaos(400)
	if w.fault == "" {
		w.settle()
	}
	return w.fault
}

var replay = flag.Int("replay", -1, "a seed of TestRandomWorlds whose world is to be printed")

func seeds() uint64 {
	if runtest.Nightly() {
		return 20_000
	}
	if testing.Short() {
		return 30
	}
	return 60
}

// I1, I2, I4, I5, I10, P28, P30, P35, P37–P39, P42, and C2 and C5 of the safety review, under lies, losses, crashes,
// restores and reorganisations.
func TestRandomWorlds(t *testing.T) {
	t.Parallel()
	if *replay >= 0 {
		t.Log(run(t, uint64(*replay)))
		return
	}
	for seed := range seeds() {
		if fault := run(t, seed); fault != "" {
			t.Fatalf("%s; replay with go test ./sequencer/sender -run TestRandomWorlds -v -replay %d", fault, seed)
		}
	}
}
