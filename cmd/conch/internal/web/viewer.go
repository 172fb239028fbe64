package web

import (
	"context"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/live"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/step"
)

// viewer is a stream that is told of what is new. It holds where the stream is, and no copy of anything: one that is slow misses beats
// and intermediate rows, and never the newest ones.
type viewer struct {
	wake    step.Wake
	said    string // what it was told of the database
	beaten  uint64
	version uint64
	rows    bool // it is told of rows and beats too
	begun   bool // version is known: that of the first reading that its client can have
}

// join adds a viewer. It is told of what is new after the version that its client has; known is false if there is no telling what that lacks.
func (s *shared) join(rows bool, resumes bool, version uint64) (v *viewer, known bool) {
	s.begin(rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	v = &viewer{wake: step.NewWake(), rows: rows, said: live.Up, version: s.set.Version(), begun: !s.setAt.IsZero()}
	if rows { // how things stand is told at once; to others, that the database is away
		s.rows++
		v.said, v.beaten = "", s.beaten-1
	}
	s.viewers[v] = struct{}{}
	v.wake.Ring()
	if !resumes {
		return v, true
	}
	_, known = s.set.Since(version)
	if known {
		v.version, v.begun = version, true
	}
	return v, known
}

func (s *shared) leave(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.viewers, v)
	s.looked = time.Now()
	if v.rows {
		s.rows--
	}
}

// place returns the version of the rows that a viewer's client has.
func (s *shared) place(v *viewer) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return v.version
}

// news is what a viewer has not been told yet; nil: nothing of the kind.
type news struct {
	source *live.Source
	beats  *live.Beats
	rows   *change
}

// change is what a viewer needs of rows, with when they were read.
type change struct {
	AsOf time.Time `json:"as_of"`
	live.Change
}

// next returns what a viewer has not been told, and counts it as told.
func (s *shared) next(v *viewer) (n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := s.source.Database; v.said != is && (v.rows || is == live.Away || v.said == live.Away) {
		v.said = is
		n.source = new(s.sourceNow())
	}
	if v.rows && v.beaten != s.beaten && !s.beats.AsOf.IsZero() {
		v.beaten = s.beaten
		n.beats = new(s.beats) // a copy: the next reading replaces it
	}
	if v.rows && v.begun && v.version != s.set.Version() {
		c, _ := s.set.Since(v.version)
		n.rows, v.version = &change{s.setAt.UTC(), c}, c.Version
	}
	return n
}

// sourceNow returns the state of the database with its age. It needs the lock.
func (s *shared) sourceNow() live.Source {
	now := s.source
	now.Since, now.ForMS = s.since.UTC(), time.Since(s.since).Milliseconds()
	return now
}

// sight is what is known of all scopes at one instant.
type sight struct {
	source  live.Source
	beats   live.Beats
	version uint64
	rows    []live.Row
	at      time.Time // when the rows were read; zero: never
	tail    []pgops.Event
}

// look returns what is known. The first one waits for a reading.
func (s *shared) look(ctx context.Context) (sight, error) {
	s.begin(true)
	s.mu.Lock()
	read := s.read
	s.mu.Unlock()
	select {
	case <-read:
	case <-ctx.Done():
		return sight{}, ctx.Err()
	case <-s.ctx.Done():
		return sight{}, isEnding()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return sight{source: s.sourceNow(), beats: s.beats, version: s.set.Version(), rows: s.set.Rows(), at: s.setAt, tail: s.tail}, nil
}
