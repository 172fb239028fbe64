package web

import (
	"context"
	"time"
)

// Candidates says of each scope that this process has a role in how many would like to
// lead it, and whether the database said so just now; else the numbers are the last ones.
// It is for a page of metrics: the answer may be some seconds old, however many ask.
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

// recent reads all scopes, unless that was done within the time given.
func (r *reader) recent(ctx context.Context, within time.Duration) (reading, error) {
	r.mu.Lock()
	had := reading{leaderships: r.all, at: r.allAt}
	r.mu.Unlock()
	if !had.at.IsZero() && time.Since(had.at) < within {
		return had, nil
	}
	return r.leaderships(ctx, "")
}
