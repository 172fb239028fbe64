package core

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

const (
	ms   = time.Millisecond
	noon = fence.Instant(time.Hour) // an instant well after 0, which means none
)

// The hints that wake a seat.
var (
	missed  = Woken{}
	ended   = Woken{Process: 7}
	givenUp = Woken{Scope: "s"}
	taken   = Woken{Scope: "s", Holder: "b"}
)

// paceOf returns a pace whose pauses can be told apart.
func paceOf(batch int) *pace {
	set := &Settings{
		CheckInterval: time.Second, BackoffMin: 200 * ms, BackoffMax: 500 * ms, RetryMax: 20 * time.Second,
		RankDelay: 5 * ms, YieldAfterStep: time.Minute, Batch: batch,
	}
	return &pace{chance: &chance{source: 1, shortest: set.BackoffMin, longest: set.RetryMax}, set: set}
}

// lose loses this many bids at once to the holder with that process.
func (p *pace) lose(t *turn, bids int, process int64) {
	for range bids {
		p.draws = draws{}
		p.bidAnswered(t, noon, mint.Held, process)
	}
}

func (p *pace) fail(bids int, batch ...*turn) {
	for range bids {
		p.draws = draws{}
		p.batchFailed(noon, batch)
	}
}

// TestPace asks when a seat bids next after something happened at noon.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule     string
		do       func(p *pace, s *turn)
		from, to time.Duration // after noon
	}{
		{"a new seat bids at once", func(*pace, *turn) {}, -time.Hour, -time.Hour},
		{"a wake brings a bid forward", func(p *pace, s *turn) { s.tryAt = noon.Add(time.Hour); p.wakeTurn(s, noon, 0, missed) }, 0, 0},
		{"a wake ends the wait for a poll", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 0, missed) }, 0, 0},
		{"a wake puts no bid off", func(p *pace, s *turn) { s.tryAt = noon; p.wakeTurn(s, noon, 1, missed); p.wakeTurn(s, noon, 1, taken) }, 0, 0},
		{"by rank", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 2, ended) }, 10 * ms, 10 * ms},
		{"a scope that was just taken", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 2, taken) }, 60 * ms, 60 * ms},

		{"the first quick bid after an end", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, ended); p.lose(s, 1, 7) }, ms * 8 / 10, ms * 12 / 10},
		{"the fourth", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, ended); p.lose(s, 4, 7) }, 8 * ms * 8 / 10, 8 * ms * 12 / 10},
		{"the tenth and last", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, ended); p.lose(s, 10, 7) }, 32 * ms * 8 / 10, 32 * ms * 12 / 10},
		{"a poll after them", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, ended); p.lose(s, 11, 7) }, 800 * ms, 1200 * ms},
		{"the first after a farewell", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, givenUp); p.lose(s, 1, 7) }, 8 * ms * 8 / 10, 8 * ms * 12 / 10},
		{"the seventh and last", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, givenUp); p.lose(s, 7, 7) }, 32 * ms * 8 / 10, 32 * ms * 12 / 10},
		{"a poll after these", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, givenUp); p.lose(s, 8, 7) }, 800 * ms, 1200 * ms},
		{"a rival has won: one is left", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 0, ended); p.lose(s, 1, 9) }, 20 * ms, 40 * ms},
		{"a rival has won: none is left", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 0, ended); p.lose(s, 2, 9) }, 800 * ms, 1200 * ms},
		{"no rival has won", func(p *pace, s *turn) { p.lose(s, 1, 7); p.wakeTurn(s, noon, 0, ended); p.lose(s, 2, 0) }, 2 * ms * 8 / 10, 2 * ms * 12 / 10},
		{"nobody was the holder, so nobody is a rival", func(p *pace, s *turn) {
			p.lose(s, 1, 7)
			p.bidAnswered(s, noon, mint.Yield, 0)
			p.wakeTurn(s, noon, 0, ended)
			p.lose(s, 2, 9)
		}, 2 * ms * 8 / 10, 2 * ms * 12 / 10},
		{"the holder has ended and is forgotten", func(p *pace, s *turn) {
			p.lose(s, 1, 7)
			p.wakeTurn(s, noon, 0, ended)
			p.wakeTurn(s, noon, 0, ended)
			p.lose(s, 2, 9)
		}, 2 * ms * 8 / 10, 2 * ms * 12 / 10},
		{"no quick bids without news of a free scope", func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, missed); p.wakeTurn(s, noon, 0, taken); p.lose(s, 1, 7) }, 800 * ms, 1200 * ms},

		{"a holder to wait for", func(p *pace, s *turn) { p.lose(s, 1, 7) }, 800 * ms, 1200 * ms},
		{"a poll that is due already goes on", func(p *pace, s *turn) { p.pollAt = noon.Add(ms); p.lose(s, 1, 7) }, ms, ms},
		{"nobody to wait for", func(p *pace, s *turn) { p.lose(s, 1, 0) }, 200 * ms, 500 * ms},
		{"nobody to wait for any more", func(p *pace, s *turn) { p.lose(s, 1, 7); p.lose(s, 1, 0) }, 200 * ms, 500 * ms},
		{"told to yield", func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Yield, 7) }, 200 * ms, 500 * ms},
		{"refused", func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Refused, 7) }, 16 * time.Second, 24 * time.Second},
		{"a busy fence", func(p *pace, s *turn) { p.lose(s, 1, 7); p.bidAnswered(s, noon, mint.Busy, 7) }, 0, 0},
		{"a fence that was busy", func(p *pace, s *turn) {
			p.bidAnswered(s, noon, mint.Busy, 0)
			p.lose(s, 1, 7)
			p.wakeTurn(s, noon, 0, missed)
		}, 0, 0},
		{"a busy fence is not woken", func(p *pace, s *turn) {
			p.bidAnswered(s, noon, mint.Busy, 0)
			p.fail(1, s)
			p.wakeTurn(s, noon, 0, ended)
		}, 100 * ms, 200 * ms},

		{"failed once", func(p *pace, s *turn) { p.fail(1, s) }, 100 * ms, 200 * ms},
		{"failed three times", func(p *pace, s *turn) { p.fail(3, s) }, 400 * ms, 800 * ms},
		{"failed for ever", func(p *pace, s *turn) { p.fail(50, s) }, 10 * time.Second, 20 * time.Second},
		{"failed again, after an answer", func(p *pace, s *turn) { p.fail(9, s); p.lose(s, 1, 7); p.fail(1, s) }, 100 * ms, 200 * ms},
		{"no poll while batches fail", func(p *pace, s *turn) { p.lose(s, 1, 7); p.pollAt = noon; p.fail(1, new(turn), new(turn)) }, 100 * ms, 200 * ms},
		{"a poll while one scope fails", func(p *pace, s *turn) { p.lose(s, 1, 7); p.pollAt = noon; p.fail(1, new(turn)) }, 0, 0},

		{"a full mint", func(p *pace, s *turn) { p.mintFull(noon) }, 100 * ms, 200 * ms},
		{"still full", func(p *pace, s *turn) { p.mintFull(noon); p.mintFull(noon); p.mintFull(noon) }, 400 * ms, 800 * ms},
		{"full again, after an answer", func(p *pace, s *turn) {
			p.mintFull(noon)
			p.mintFull(noon)
			p.bidAnswered(s, noon, mint.Won, 0)
			p.mintFull(noon)
		}, 100 * ms, 200 * ms},

		{"a rest", func(p *pace, s *turn) { s.restUntil = noon.Add(time.Hour); p.wakeTurn(s, noon, 0, missed) }, time.Hour, time.Hour},
		{"a rest from polls", func(p *pace, s *turn) { s.restUntil = noon.Add(time.Hour); p.lose(s, 1, 7) }, time.Hour, time.Hour},
		{"a rest that a term does not end", func(p *pace, s *turn) { s.restUntil = noon.Add(time.Hour); p.bidAnswered(s, noon, mint.Won, 0) }, time.Hour, time.Hour},
		{"others go first", func(p *pace, s *turn) { p.yieldTurn(s, noon) }, 48 * time.Second, 72 * time.Second},
		{"a free scope is still theirs", func(p *pace, s *turn) { p.yieldTurn(s, noon); p.wakeTurn(s, noon, 0, givenUp) }, 48 * time.Second, 72 * time.Second},
		{"one of them has gone", func(p *pace, s *turn) { p.yieldTurn(s, noon); p.wakeTurn(s, noon, 0, taken) }, 50 * ms, 50 * ms},
		{"one of them has led", func(p *pace, s *turn) { p.yieldTurn(s, noon); p.lose(s, 1, 7); p.wakeTurn(s, noon, 0, givenUp) }, 0, 0},
		{"a term begins anew", func(p *pace, s *turn) { p.fail(3, s); p.bidAnswered(s, noon, mint.Won, 0) }, -time.Hour, -time.Hour},
	} {
		p, s := paceOf(500), new(turn)
		c.do(p, s)
		if due := p.turnDue(s).Sub(noon); due < c.from || due > c.to {
			t.Errorf("%s: bids after %s, want %s to %s", c.rule, due, c.from, c.to)
		}
	}
}

// TestPaceOfABatch asks which of some seats bid at noon, batch after batch. What was sent is lost.
func TestPaceOfABatch(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) *turn { return &turn{tryAt: noon.Add(after)} }
	poll := func() *turn { return &turn{tryAt: never} }
	upTo := func(room int) *turn { return &turn{tryAt: noon, room: room} }
	busy := func(after time.Duration) *turn {
		return &turn{tryAt: noon.Add(after), found: found{busySince: noon}}
	}
	for _, c := range []struct {
		rule  string
		batch int
		round []*turn
		want  [][]int // places
	}{
		{"what is due and may bid", 9, []*turn{at(0), at(1), nil, at(-1)}, [][]int{{0, 3}}},
		{"polls come last", 9, []*turn{poll(), at(0), poll(), at(0)}, [][]int{{1, 3, 0, 2}}},
		{"a full batch, and what it left", 3, []*turn{at(0), at(0), at(0), at(0), at(0)}, [][]int{{0, 1, 2}, {3, 4}}},
		{"the smallest room counts", 9, []*turn{at(0), upTo(2), at(0)}, [][]int{{0, 1}, {2}}},
		{"a seat that must bid alone", 9, []*turn{at(0), upTo(1), at(0)}, [][]int{{0, 2}, {1}}},
		{"polls in a small batch", 9, []*turn{poll(), upTo(2), at(0)}, [][]int{{1, 2}, {0}}},
		{"busy fences alone, the longest wait first", 9, []*turn{busy(0), at(0), busy(-1), busy(-1), busy(1)}, [][]int{{1}, {2}, {3}, {0}, nil}},
	} {
		p := paceOf(c.batch)
		for _, want := range c.want {
			got := p.nextBatch(noon, c.round)
			if !slices.Equal(got, want) {
				t.Errorf("%s: places %v bid, want %v", c.rule, got, want)
			}
			for _, place := range got {
				c.round[place] = at(1)
			}
		}
	}
}

// TestPaceGoesRound fills every batch, since all seats are always due.
func TestPaceGoesRound(t *testing.T) {
	t.Parallel()
	p, round := paceOf(2), []*turn{{}, {}, {}}
	for _, want := range [][]int{{0, 1}, {2, 0}, {1, 2}, {0, 1}} {
		if got := p.nextBatch(noon, round); !slices.Equal(got, want) {
			t.Errorf("places %v bid, want %v", got, want)
		}
	}
}

// TestPaceSplits fails batches until a scope fails alone, or until the cause cannot be a scope.
func TestPaceSplits(t *testing.T) {
	t.Parallel()
	p, all := paceOf(500), make([]*turn, 9)
	for i := range all {
		all[i] = new(turn)
	}
	for _, c := range []struct{ failed, room, failures int }{{9, 4, 0}, {4, 2, 0}, {2, 1, 0}, {1, 1, 1}, {1, 1, 2}} {
		p.fail(1, all[:c.failed]...)
		if s := all[0]; s.room != c.room || s.failures != c.failures {
			t.Errorf("after %d failed together: at most %d, with %d failures of its own; want %d and %d", c.failed, s.room, s.failures, c.room, c.failures)
		}
	}
	p.fail(splits-5, all...)
	all[0].room = 0
	if p.fail(1, all...); all[0].room != 0 || all[0].failures != 3 {
		t.Errorf("the failure after %d is split", splits)
	}
	s := new(turn)
	if p.fail(1, s); s.room != 1 {
		t.Error("a seat that failed alone may bid with others")
	}
	if p.bidAnswered(s, noon, mint.Held, 7); p.failures != 0 || s.failures != 0 || s.room != 0 {
		t.Error("an answer does not end the failures")
	}
	p.bidAnswered(s, noon, mint.Busy, 0)
	if p.bidAnswered(s, noon+1, mint.Busy, 0); s.busySince != noon {
		t.Error("a fence that stays busy becomes busy again")
	}
}

// TestPaceIsShared compares seats of one batch that got the same answer, and of two batches.
func TestPaceIsShared(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*pace, *turn){
		"quick":   func(p *pace, s *turn) { p.wakeTurn(s, noon, 0, ended); p.bidAnswered(s, noon, mint.Held, 7) },
		"poll":    func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Held, 7) },
		"no one":  func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Locked, 0) },
		"yield":   func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Yield, 0) },
		"refused": func(p *pace, s *turn) { p.bidAnswered(s, noon, mint.Refused, 0) },
		"failed":  func(p *pace, s *turn) { p.batchFailed(noon, []*turn{s}) },
	} {
		p, a, b, c := paceOf(500), new(turn), new(turn), new(turn)
		answer(p, a)
		answer(p, b)
		if p.turnDue(a) != p.turnDue(b) {
			t.Errorf("%s: %s and %s after noon in one batch", name, p.turnDue(a).Sub(noon), p.turnDue(b).Sub(noon))
		}
		p.nextBatch(noon, nil)
		if answer(p, c); name != "poll" && p.turnDue(a) == p.turnDue(c) {
			t.Errorf("%s: two batches share a pause", name)
		}
	}
}
