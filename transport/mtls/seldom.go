package mtls

import (
	"sync"
	"time"
)

// seldom lets one line of the log through each minute, for each reason. It is safe for concurrent use.
type seldom struct {
	mu   sync.Mutex
	last map[Reason]time.Time
}

func newSeldom() *seldom { return &seldom{last: map[Reason]time.Time{}} }

func (s *seldom) due(r Reason) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last[r]) < time.Minute {
		return false
	}
	s.last[r] = now
	return true
}
