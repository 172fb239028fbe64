//go:build unix

package consortium

import (
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// settles is how long the nodes may take after a fault until they are judged again by what they send for nothing.
const settles = time.Second

// struck notes that something is done to a node at this moment.
func (s *supervisor) struck(now time.Time) {
	if s.troubled.IsZero() {
		s.troubles = append(s.troubles, auditor.Trouble{From: s.head()})
	}
	s.troubled = now.Add(settles)
}

// trouble notes in which blocks something was done to a node, or is.
func (s *supervisor) trouble(now time.Time) {
	lasts := !s.healAt.IsZero() || s.asleep != nil || s.saved != nil || !s.rightAt.IsZero() || s.oldHead > 0 || s.expired != nil ||
		slices.ContainsFunc(s.All, func(o *organisation) bool { return o.Process == nil || o.Killed })
	if lasts {
		s.struck(now)
	}
	if s.troubled.IsZero() {
		return
	}
	s.troubles[len(s.troubles)-1].To = s.head()
	if now.After(s.troubled) {
		s.troubled = time.Time{}
	}
}

// head is the newest block that any node has told of.
func (s *supervisor) head() (newest uint64) {
	for _, c := range s.customers {
		newest = max(newest, c.seen().Head)
	}
	return newest
}
