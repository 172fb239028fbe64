package store

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Store is a mint as a pure state machine: rows, sessions with locks and a lease, fences.
// The argument now of its methods is a reading of the mint's clock. It is not safe for
// concurrent use.
type Store struct {
	rows       map[string]*row
	locks      map[string]int64 // scope → session
	sessions   map[int64]*session
	tombstones map[int64]bool // tombstones by process
	fences     map[int64]*fenced
	locked     map[string]bool // rows that another client than a candidate has locked
	serial     int64
	// registered holds the candidates by process; a standby that lags forgets the latest.
	registered map[int64]registration
	system     int64
	timeline   uint32
	broken     map[Rule]bool
	past       []snapshot // one before each transition, for Promote
	Ledger     []Commit   // the fenced transactions that committed in this history, in order
	History    []Event
	Evicted    []time.Duration // ages of the transactions that a bid ended for holding a fence
}

// Event is a line of the leadership history.
type Event struct {
	Scope  string
	Epoch  int64
	Holder string
	Event  string
}

// Commit is a fenced transaction that the store accepted.
type Commit struct {
	Scope string
	Epoch int64
	Term  fence.Term
}

type row struct {
	token    fence.Token
	lease    time.Duration
	hold     time.Duration
	released bool
	parted   bool
	lost     bool // the leadership was lost before it was given up
	process  int64
	takeover mint.Takeover
	system   int64
	timeline uint32
	to       string
	partedAt time.Duration
	version  int64 // changes whenever the row is replaced
}

// registration is what a candidate tells the mint before it can win a scope.
type registration struct {
	scopes []string // empty: not told, so it counts for every scope
	lease  time.Duration
}

type session struct {
	who      mint.Candidate
	usedAt   time.Duration
	locks    Locks
	unlocked bool                  // its process key and locks were freed, but the session lives
	minted   map[string]fence.Term // won and not given up; a heartbeat under ProcessLocks renews these
	owed     map[string]fence.Term // to be settled once the row is unlocked
	dead     map[int64]bool        // processes that Look found gone; the bid holds their keys
	looked   map[string]int64      // by scope: the process that Look found gone; 0 if free or its own
}

// Locks says how a session keeps the scopes that it wins.
type Locks string

// Candidates with different Locks may compete for one scope.
const (
	// SessionLocks is a lock for each scope, and a heartbeat that names each term.
	SessionLocks Locks = "session"
	// ProcessLocks is one lock for the process, and one heartbeat for all its terms.
	ProcessLocks Locks = "process"
)

type fenced struct {
	token   fence.Token
	begunAt time.Duration
	idleAt  time.Duration
	lease   time.Duration
	queries string
	works   bool // it is executing, so it does not idle
	shares  bool // it shares the row
}

// snapshot is the state of a standby that lags.
type snapshot struct {
	rows       map[string]row
	commits    int
	registered map[int64]registration
}

// Rule names a rule of the design that can be broken on purpose.
type Rule string

// The rules on the mint's side.
const (
	// TermInPredicate: a heartbeat renews a term, not a holder's name.
	TermInPredicate Rule = "term-in-predicate"
	// HoldStored: a term stores how long its own predecessors may still act.
	HoldStored Rule = "hold-stored"
	// HoldOwnLease: a term without a hold still stores its own lease.
	HoldOwnLease Rule = "hold-own-lease"
	// HoldWaits: the successor of a term that was not released has a hold.
	HoldWaits Rule = "hold-waits"
	// ReleaseInHistory: a release counts only in the database history in which it was made.
	ReleaseInHistory Rule = "release-in-history"
	// EpochJumps: in another database history the epoch jumps.
	EpochJumps Rule = "epoch-jumps"
	// FenceLocks: no bid wins a scope while a transaction holds its fence.
	FenceLocks Rule = "fence-locks"
	// LeasesRegistered: after a failover the hold covers the longest registered lease.
	LeasesRegistered Rule = "leases-registered"
	// LockExcludes: no two sessions hold one lock, of a scope or of a process. Without it
	// nothing unsafe follows: the row is the truth, the lock only says when to bid.
	LockExcludes Rule = "lock-excludes"
	// ProcessKeyChecked: a scope is not taken from a process whose key is held. Without it
	// nothing unsafe follows, for the same reason.
	ProcessKeyChecked Rule = "process-key-checked"
	// ProcessKeyRechecked: a bid checks the process that is in the row once the row is
	// locked, not the one that was there before.
	ProcessKeyRechecked Rule = "process-key-rechecked"
	// Tombstone: a bid that takes a scope from a process puts a tombstone on that process.
	Tombstone Rule = "tombstone"
	// AdvanceTombstones: so does an advance of the epoch.
	AdvanceTombstones Rule = "advance-tombstones"
	// AdvanceWaits: an epoch is not advanced while a transaction holds the fence.
	AdvanceWaits Rule = "advance-waits"
	// LateFarewellBuries: a farewell over another session puts a tombstone on the process that led.
	LateFarewellBuries Rule = "late-farewell-buries"
	// FarewellUnlocksOwn: a farewell does not unlock a scope that its session has won again.
	FarewellUnlocksOwn Rule = "farewell-unlocks-own"
	// EvictsTheOld: a bid ends only transactions that have held the fence for longer than a lease.
	EvictsTheOld Rule = "evicts-the-old"
	// DeadIsParted: a bid that finds the fence of a dead process's term busy gives that term up.
	DeadIsParted Rule = "dead-is-parted"
	// StaleForCertain: a fence with an old snapshot refuses no current token and passes no stale one.
	StaleForCertain Rule = "stale-for-certain"
	// TermsRemembered: the one heartbeat renews the terms that its session has won and not
	// given up, no others.
	TermsRemembered Rule = "terms-remembered"
)

// New returns an empty store.
func New() *Store {
	return &Store{
		rows: map[string]*row{}, locks: map[string]int64{}, sessions: map[int64]*session{},
		tombstones: map[int64]bool{}, fences: map[int64]*fenced{}, locked: map[string]bool{}, registered: map[int64]registration{}, system: 7, timeline: 1, broken: map[Rule]bool{},
	}
}

// Break switches a rule off.
func (s *Store) Break(r Rule) { s.broken[r] = true }

func (s *Store) keeps(r Rule) bool { return !s.broken[r] }

func (s *Store) next() int64 { s.serial++; return s.serial }

// Open begins a session and returns its process key, by which the store knows it.
func (s *Store) Open(now time.Duration, c mint.Candidate, locks Locks) int64 {
	id := s.next()
	s.registered[id] = registration{scopes: c.Scopes, lease: max(c.Longest, c.Lease)}
	s.sessions[id] = &session{who: c, usedAt: now, locks: locks, minted: map[string]fence.Term{}, owed: map[string]fence.Term{}}
	return id
}

// Enlist changes the registration of a session's candidate. Scopes that it withdraws from stay
// registered, since after a failover the lease of a current term still counts.
func (s *Store) Enlist(now time.Duration, id int64, r mint.Roll) error {
	ss := s.sessions[id]
	if ss == nil {
		return mint.ErrSessionLost
	}
	ss.usedAt = now
	is := s.registered[id]
	is.scopes = append(slices.Clone(is.scopes), r.Add...)
	is.lease = max(is.lease, r.Longest)
	s.registered[id] = is
	return nil
}

// Enlisted reports whether a process is registered for a scope, with at least that lease.
func (s *Store) Enlisted(id int64, scope string, lease time.Duration) bool {
	r := s.registered[id]
	return lease <= r.lease && slices.Contains(r.scopes, scope)
}

// Registered reports whether the store knows a process. A failover can forget it and its terms.
func (s *Store) Registered(id int64) bool { _, ok := s.registered[id]; return ok }

// longest returns the longest lease that a candidate of the scope has registered.
func (s *Store) longest(scope string) (lease time.Duration) {
	for _, r := range s.registered {
		if len(r.scopes) == 0 || slices.Contains(r.scopes, scope) {
			lease = max(lease, r.lease)
		}
	}
	return lease
}

// End ends a session and frees its locks, as a closed or broken connection does.
func (s *Store) End(id int64) {
	delete(s.sessions, id)
	s.unlockAll(id)
}

// Unlock frees all locks of a session that lives on, as pg_advisory_unlock_all or DISCARD ALL
// does when a pooler or another client runs it there.
func (s *Store) Unlock(id int64) {
	if ss := s.sessions[id]; ss != nil {
		ss.unlocked = true
		s.unlockAll(id)
	}
}

func (s *Store) unlockAll(id int64) {
	for scope, holder := range s.locks {
		if holder == id {
			delete(s.locks, scope)
		}
	}
}

// Expire ends the sessions, except those under Keep, and the fenced transactions that have
// idled for longer than their lease. It returns the sessions that it has ended.
func (s *Store) Expire(now time.Duration) []int64 {
	var ended []int64
	for id, ss := range s.sessions {
		if ss.who.Takeover != mint.Keep && now-ss.usedAt > ss.who.Lease {
			ended = append(ended, id)
		}
	}
	for _, id := range ended {
		s.End(id)
	}
	for id, f := range s.fences {
		if !f.works && now-f.idleAt > f.lease {
			delete(s.fences, id)
		}
	}
	return ended
}

// LockRow locks or unlocks the row of a scope for a client that is no candidate.
func (s *Store) LockRow(scope string, locked bool) { s.locked[scope] = locked }

// Alive reports whether a session lives.
func (s *Store) Alive(id int64) bool { return s.sessions[id] != nil }

// Gone reports whether a process key is free: to other processes it has ended.
func (s *Store) Gone(id int64) bool { return s.sessions[id] == nil || s.sessions[id].unlocked }

// Restart ends every session and transaction, as a restart of the database does.
func (s *Store) Restart() {
	s.sessions, s.locks, s.fences = map[int64]*session{}, map[string]int64{}, map[int64]*fenced{}
}

// Promote fails over to a standby that lacks the last lag transitions and the later commits.
func (s *Store) Promote(lag int) {
	s.Restart()
	s.timeline++
	if at := max(0, len(s.past)-lag); at < len(s.past) {
		s.rows = map[string]*row{}
		for scope, r := range s.past[at].rows {
			s.rows[scope] = &r
		}
		s.Ledger = s.Ledger[:s.past[at].commits]
		s.registered = s.past[at].registered
		s.past = s.past[:at]
	}
}

// remember saves the state for Promote.
func (s *Store) remember() {
	snap := make(map[string]row, len(s.rows))
	for scope, r := range s.rows {
		snap[scope] = *r
	}
	s.past = append(s.past, snapshot{rows: snap, commits: len(s.Ledger), registered: maps.Clone(s.registered)})
	if len(s.past) > 8 {
		s.past = s.past[1:]
	}
}

func (s *Store) newTerm() (t fence.Term) {
	binary.BigEndian.PutUint64(t[8:], uint64(s.next()))
	return t
}
