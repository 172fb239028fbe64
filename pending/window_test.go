package pending

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// press lets a window be what limits sending, in each of some blocks, before a pool that takes so many. It returns how
// many were sent and refused.
func press(w *window, pool int, from, blocks uint64) (sent, refused int) {
	for height := from; height < from+blocks; height++ {
		w.pressed = true
		sent += w.size
		if w.size > pool {
			refused += w.size - pool
			w.noteRefused(pool, height)
			continue
		}
		w.noteTaken(w.size, height)
	}
	return sent, refused
}

// A pool of any size is found in a few blocks, and then seldom tried.
func TestTheWindowFindsThePool(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{0, 1, 2, 15, 16, 17, 200, 3999} {
		w := newWindow(4000)
		if _, refused := press(&w, pool, 0, 20); refused > max(2*pool, firstWindow+20) {
			t.Errorf("a pool of %d refused %d before its size was known", pool, refused)
		}
		if want := max(pool, 1); w.size < want || w.size > want+1 {
			t.Errorf("a pool of %d: the window is %d", pool, w.size)
		}
		if sent, refused := press(&w, pool, 20, 1000); pool > 0 && refused > 40 || sent < 1000*pool {
			t.Errorf("a pool of %d: %d of %d were refused in 1000 blocks", pool, refused, sent)
		}
	}
}

// What the node takes is soon used, and never more than is allowed.
func TestTheWindowGrows(t *testing.T) {
	t.Parallel()
	w := newWindow(4000)
	if press(&w, 10_000, 0, 8); w.size != 4000 {
		t.Errorf("after eight answers the window is %d, want 4000", w.size)
	}
	press(&w, 0, 8, 50) // nobody has room for a while
	if press(&w, 10_000, 58, firstWait+13); w.size != 4000 {
		t.Errorf("the pool has room again for %d blocks: the window is %d, want 4000", firstWait+13, w.size)
	}
	one := newWindow(1)
	if press(&one, 10_000, 0, 100); one.size != 1 {
		t.Errorf("one is allowed, and the window is %d", one.size)
	}
}

// A window that did not limit anything does not grow: nothing was learned.
func TestAWindowThatDoesNotLimitStays(t *testing.T) {
	t.Parallel()
	w := newWindow(4000)
	w.noteTaken(firstWindow, 1)
	w.pressed = true
	w.noteTaken(firstWindow/2-1, 2)
	if w.size != firstWindow {
		t.Errorf("the window is %d, want %d", w.size, firstWindow)
	}
	for _, c := range []struct {
		best, next uint64
		want       int
	}{{5, 5, 16}, {5, 20, 1}, {5, 21, 0}, {5, 4000, 0}, {9, 5, 16}} {
		if got := w.allowsMore(c.best, c.next); got != c.want {
			t.Errorf("with %+v it allows %d", c, got)
		}
	}
}

// After a step that did fit, the next refusal is followed by a short wait again.
func TestTheWindowForgetsLongWaits(t *testing.T) {
	t.Parallel()
	w := newWindow(4000)
	press(&w, 20, 0, 400)
	press(&w, 4000, 400, mostWait+8)
	w.noteRefused(30, 1000)
	if w.growAt != 1000+firstWait {
		t.Errorf("it grows %d blocks after the refusal, want %d", w.growAt-1000, firstWait)
	}
}

// The wait begins with the first head, and is no longer than it can be after a rewind.
func TestTheWindowWaitsInHeights(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{MaxInFlight: 100, MaxBatch: 50})
	m.sending.window.noteRefused(5, 0)
	for _, at := range []struct{ head, want uint64 }{{1000, 1000 + firstWait}, {1001, 1000 + firstWait}, {10, 10 + mostWait}} {
		m.Step(fence.Instant(time.Hour), turned{Turn: chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: at.head, Hash: "x"}}})
		if m.sending.window.growAt != at.want {
			t.Errorf("at head %d it grows at %d, want %d", at.head, m.sending.window.growAt, at.want)
		}
	}
}

// A rest does not lengthen the wait: the first head after it is like any other.
func TestARestDoesNotHoldTheWindow(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{MaxInFlight: 100, MaxBatch: 50})
	at := func(height uint64) {
		m.Step(fence.Instant(time.Hour), turned{Turn: chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: height, Hash: "x"}}})
	}
	at(1000)
	m.sending.window.noteRefused(5, 1000)
	m.Step(fence.Instant(time.Hour), rested{})
	if at(1100); m.sending.window.growAt > 1100+firstWait {
		t.Errorf("after a rest it grows %d blocks after the first head, want %d at most", m.sending.window.growAt-1100, firstWait)
	}
}

// It grows once for each time that it was in the way, and a refusal never makes it larger.
func TestTheWindowGrowsOnlyWhenInTheWay(t *testing.T) {
	t.Parallel()
	w := newWindow(4000)
	w.pressed = true
	w.noteTaken(firstWindow, 1)
	if w.noteTaken(2*firstWindow, 1); w.size != 2*firstWindow {
		t.Errorf("in the way once, it is %d, want %d", w.size, 2*firstWindow)
	}
	if w.noteRefused(100, 1); w.size != 2*firstWindow {
		t.Errorf("after a refusal far above it is %d, want %d", w.size, 2*firstWindow)
	}
}

// What a node takes in a row counts from where the chain was when it was asked, and what the chain has by now too.
func TestTheRoomIsThatOfTheQuestion(t *testing.T) {
	t.Parallel()
	said := func(first uint64, verdicts ...chain.Verdict) (all sent) {
		for i, v := range verdicts {
			all.Attempts = append(all.Attempts, chain.Signed{Index: first + uint64(i)})
			all.Outcomes = append(all.Outcomes, chain.Outcome{Verdict: v})
		}
		return all
	}
	m := newMachine(settings{MaxInFlight: 4000, MaxBatch: 50})
	m.sending.from, m.best, m.sending.window.size, m.sending.window.pressed = 0, 5, 4, true
	if m.sending.learnRoom(said(0, chain.IndexTooLow, chain.Known, chain.Accepted, chain.Accepted)); m.sending.window.size != 8 {
		t.Errorf("all that was sent is taken: the window is %d, want 8", m.sending.window.size)
	}
	if m.sending.learnRoom(said(6, chain.Accepted, chain.Full)); m.sending.window.size != 7 {
		t.Errorf("seven were taken in a row, of which five are in blocks by now: the window is %d, want 7", m.sending.window.size)
	}
}
