package transactions

import "time"

// share is the part of an endpoint's calls a second that this process may make: those that lead accounts behind it share
// them equally, and the others have a little to keep their connections. All parts together are at most a tenth more than
// the whole, also while processes come and go, as long as each looks every lookAround: a part shrinks as soon as that is
// seen, and grows only once that has been seen for as long as others need to shrink. One that has just begun to lead,
// and is alone, as after the death of the leader, has the whole at once. It is pure.
type share struct {
	whole float64
	part  float64
	leads bool
	since time.Time // since when a larger part is due; zero: none is
	least float64   // the smallest part that was due since
}

const (
	lookAround  = time.Second
	settles     = 3 * time.Second // what a look takes included
	spare       = 10              // the parts of those that do not lead are this part of the whole
	leastOthers = 4               // and made as if at least so many were there
)

// company is who uses an endpoint, this process included.
type company struct {
	all, leaders int
	leads        bool // this process does
	afresh       bool // others may not have seen this process for a while
}

func newShare(whole float64) share { return share{whole: whole, part: spared(whole, 0)} }

// spared is the part of a process that does not lead. It is small enough for twice as many.
func spared(whole float64, all int) float64 {
	return whole / spare / float64(max(2*all, leastOthers))
}

// see takes who is there, and returns the part.
func (s *share) see(now time.Time, c company) float64 {
	due := spared(s.whole, c.all)
	if c.leads {
		due = s.whole / float64(max(1, c.leaders))
	}
	if c.afresh {
		s.part, s.since = min(s.part, spared(s.whole, c.all)), time.Time{}
	}
	if begins := c.leads && (!s.leads || c.afresh); begins {
		s.since = time.Time{}
	}
	if c.leads && c.leaders <= 1 && s.part <= spared(s.whole, 0) {
		s.part = due // also once the one before is counted no more, which has left or died
	}
	s.leads = c.leads
	if due <= s.part {
		s.part, s.since = due, time.Time{}
		return s.part
	}
	if s.since.IsZero() {
		s.since, s.least = now, due
	}
	if s.least = min(s.least, due); now.Sub(s.since) >= settles {
		s.part, s.since = s.least, time.Time{}
	}
	return s.part
}

// leave ends the leading at once: others may take its part once they see that.
func (s *share) leave() float64 {
	s.leads, s.since, s.part = false, time.Time{}, min(s.part, spared(s.whole, 0))
	return s.part
}
