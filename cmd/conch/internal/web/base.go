package web

import (
	"context"
	"time"
)

// Candidates returns the number of candidates of each scope of this process, which may be some
// seconds old, and whether the database is up; if not, the numbers are the last known.
func (s *Site) Candidates(ctx context.Context) (counts map[string]int, up bool) {
	counts = map[string]int{}
	for _, scope := range s.cfg.Electors.Scopes() {
		counts[scope] = 0
	}
	read, err := s.reader.recent(ctx, recently)
	for _, l := range read.leaderships {
		if _, ours := counts[l.Scope]; ours {
			counts[l.Scope] = len(l.Candidates)
		}
	}
	return counts, err == nil && !read.stale
}

// recent reads all scopes, or returns the last reading if it is not older than within.
func (r *reader) recent(ctx context.Context, within time.Duration) (reading, error) {
	r.mu.Lock()
	had := reading{leaderships: r.all, at: r.allAt}
	r.mu.Unlock()
	if !had.at.IsZero() && time.Since(had.at) < within {
		return had, nil
	}
	return r.leaderships(ctx, "")
}
