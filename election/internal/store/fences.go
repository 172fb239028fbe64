package store

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Fenced reports whether a transaction holds the fence of a scope.
func (s *Store) Fenced(scope string) bool {
	if !s.keeps(FenceLocks) {
		return false
	}
	for _, f := range s.fences {
		if f.token.Scope == scope {
			return true
		}
	}
	return false
}

// evict ends the transactions that have held the fence for longer than the bid's lease.
func (s *Store) evict(now time.Duration, b mint.Bid) (ended []mint.Blocker) {
	for _, id := range slices.Sorted(maps.Keys(s.fences)) {
		f := s.fences[id]
		if f.token.Scope == b.Scope && (now-f.begunAt > b.Lease || !s.keeps(EvictsTheOld)) {
			ended = append(ended, mint.Blocker{PID: int32(id), Query: f.queries, Ended: true, What: "a fenced transaction"})
			s.Evicted = append(s.Evicted, now-f.begunAt)
			delete(s.fences, id)
		}
	}
	return ended
}

// Fence begins a transaction whose last statement is the fence, and returns its id for
// CommitFenced. It returns fence.ErrStale if the token is not the current one.
func (s *Store) Fence(now time.Duration, t fence.Token) (int64, error) {
	r := s.rows[t.Scope]
	foreign := r != nil && (r.system != s.system || r.timeline != s.timeline)
	if r == nil || r.parted || foreign || !r.token.Same(t) {
		return 0, fence.ErrStale
	}
	return s.pass(now, r, t), nil
}

// CommitFenced commits a fenced transaction. It returns false if the transaction was ended before.
func (s *Store) CommitFenced(id int64) bool {
	f := s.fences[id]
	if f == nil {
		return false
	}
	delete(s.fences, id)
	s.Ledger = append(s.Ledger, Commit{Scope: f.token.Scope, Epoch: f.token.Epoch, Term: f.token.Term})
	return true
}

func (s *Store) pass(now time.Duration, r *row, t fence.Token) int64 {
	id := s.next()
	s.fences[id] = &fenced{token: t, begunAt: now, idleAt: now, lease: r.lease, queries: "fenced"}
	return id
}

// Current reports whether a token is the current one of its scope, and not given up.
func (s *Store) Current(t fence.Token) bool {
	r := s.rows[t.Scope]
	return r != nil && !r.parted && r.system == s.system && r.timeline == s.timeline && r.token.Same(t)
}

// Last returns the token in the row of a scope, given up or not; zero without a row.
func (s *Store) Last(scope string) fence.Token {
	if r := s.rows[scope]; r != nil {
		return r.token
	}
	return fence.Token{}
}

// Token returns the current token of a scope, if there is one.
func (s *Store) Token(scope string) (fence.Token, bool) {
	if r := s.rows[scope]; r != nil && s.Current(r.token) {
		return r.token, true
	}
	return fence.Token{}, false
}

// Seen is the row of a scope in the snapshot of a transaction above READ COMMITTED.
type Seen struct{ row *row }

// See takes such a snapshot.
func (s *Store) See(scope string) Seen {
	r := s.rows[scope]
	if r == nil {
		return Seen{}
	}
	return Seen{new(*r)}
}

// ErrAgain means that the row was replaced after the snapshot was taken: the transaction must
// begin again, and may pass then.
var ErrAgain = errors.New("store: could not serialize access due to concurrent update")

// FenceClosely is Fence in a transaction above READ COMMITTED. It shares the row until Unshare.
func (s *Store) FenceClosely(now time.Duration, t fence.Token, seen Seen) (int64, error) {
	r, is := seen.row, s.rows[t.Scope]
	over := r != nil && (r.token.Epoch > t.Epoch || r.token.Epoch == t.Epoch && (r.token.Term != t.Term || r.parted))
	matches := r != nil && !r.parted && r.system == s.system && r.timeline == s.timeline && r.token.Same(t)
	replaced := (r == nil) != (is == nil) || r != nil && r.version != is.version
	if !s.keeps(StaleForCertain) { // the snapshot is taken for the present
		over, replaced = !matches, false
	}
	switch {
	case over || !replaced && !matches:
		return 0, fence.ErrStale
	case replaced:
		return 0, ErrAgain
	}
	id := s.pass(now, r, t)
	s.fences[id].shares = true
	return id, nil
}

// Unshare stops sharing the row; the transaction keeps the fence.
func (s *Store) Unshare(id int64) {
	if f := s.fences[id]; f != nil {
		f.shares = false
	}
}

// Works sets whether a fenced transaction is executing, so that only an eviction ends it, and
// since when it idles otherwise, by the clock that counts idle time.
func (s *Store) Works(id int64, works bool, idleAt time.Duration) {
	if f := s.fences[id]; f != nil {
		f.works, f.idleAt = works, idleAt
	}
}

// RowTaken reports whether a client that is no candidate has locked or shares the row of a scope.
func (s *Store) RowTaken(scope string) bool {
	for _, f := range s.fences {
		if f.shares && f.token.Scope == scope {
			return true
		}
	}
	return s.locked[scope]
}
