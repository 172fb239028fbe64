package core

import "time"

// spellRests is how long a trouble was not met until it is over, though nothing has said so.
const spellRests = time.Hour

// spell is a trouble of one contract while it lasts. The log has a line when it begins and one when it is over, and none for
// each transaction that meets it.
type spell struct {
	began time.Duration
	last  time.Duration // when it was met last
	times int           // how often; 0: it is over
}

// meets notes the trouble, and reports whether it begins.
func (s *spell) meets(now time.Duration) bool {
	if s.times > 0 && now-s.last > spellRests {
		s.times = 0
	}
	if s.times == 0 {
		s.began = now
	}
	s.last = now
	s.times++
	return s.times == 1
}

// ends says that the trouble is over. It returns how long it lasted and how often it was met, 0 if there was none.
func (s *spell) ends(now time.Duration) (lasted time.Duration, times int) {
	lasted, times = now-s.began, s.times
	*s = spell{}
	return lasted, times
}
