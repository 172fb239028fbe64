package electiontest

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Store is a mint as a pure state machine: rows, session locks with a lease,
// processes, fences. Every method takes the time of the mint's own clock. It is not
// safe for concurrent use.
type Store struct {
	rows     map[string]*row
	locks    map[string]int64 // scope → session
	sessions map[int64]*session
	stones   map[int64]bool // tombstones: processes whose scopes somebody took, or an operator advanced
	fences   map[int64]*fenced
	locked   map[string]bool // rows that somebody has locked, who is no candidate
	serial   int64
	// registered are the candidates that the store knows of, by process: a failover forgets
	// those that came after what the standby has.
	registered map[int64]registration
	system     int64
	timeline   uint32
	broken     map[Rule]bool
	past       []snapshot // before each transition, for Promote
	Ledger     []Commit   // what fenced transactions have committed in this history, in order
	History    []Event
	Evicted    []time.Duration // how old what was ended for holding a fence was
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
	lost     bool // before it was given up
	process  int64
	takeover election.Takeover
	system   int64
	timeline uint32
	to       string
	partedAt time.Duration
	version  int64 // changes whenever the row is replaced
}

// registration is what a candidate says of itself before it can win anything.
type registration struct {
	scopes []string // empty: it did not say
	lease  time.Duration
}

type session struct {
	who      election.Candidate
	usedAt   time.Duration
	locks    Locks
	unlocked bool // its process key and locks are gone, the session lives
	// minted are the terms that its one heartbeat stands for, under ProcessLocks.
	minted map[string]fence.Term
	owed   map[string]fence.Term // to be settled once the row is nobody's
	// dead are processes whose keys the bid under way holds; looked is what it
	// found when it looked, before the rows were its own.
	dead   map[int64]bool
	looked map[string]int64
}

// Locks says how a session keeps what it wins.
type Locks string

// The two ways; candidates of both may meet in one scope.
const (
	// SessionLocks: a lock for each scope, and a heartbeat that names each term.
	SessionLocks Locks = "session"
	// ProcessLocks: one lock for the process, and one heartbeat for all its terms.
	ProcessLocks Locks = "process"
)

type fenced struct {
	token   fence.Token
	begunAt time.Duration
	idleAt  time.Duration
	lease   time.Duration
	queries string
	works   bool // it never idles
	shares  bool // it shares the row
}

// snapshot is what a lagging standby may have.
type snapshot struct {
	rows       map[string]row
	commits    int
	registered map[int64]registration
}

// Rule names a rule of the design that can be broken on purpose.
type Rule string

// The rules on the mint's side, each with what happens without it.
const (
	// TermInPredicate: a heartbeat renews a term, not a holder's name.
	TermInPredicate Rule = "term-in-predicate"
	// HoldStored: a term stores how long its own predecessors may still act.
	HoldStored Rule = "hold-stored"
	// HoldOwnLease: a term that waited for nobody still stores its own lease.
	HoldOwnLease Rule = "hold-own-lease"
	// HoldWaits: a successor of an unreleased term waits.
	HoldWaits Rule = "hold-waits"
	// ReleaseInHistory: a release counts only under the database history it was made in.
	ReleaseInHistory Rule = "release-in-history"
	// EpochJumps: under another database history the epoch jumps.
	EpochJumps Rule = "epoch-jumps"
	// FenceLocks: a fence keeps the mint out until it commits.
	FenceLocks Rule = "fence-locks"
	// LeasesRegistered: after a failover the longest registered lease counts.
	LeasesRegistered Rule = "leases-registered"
	// LockExcludes: two sessions never hold one lock, of a scope or of a process.
	// Nothing unsafe follows without it: the row is the truth, the lock only says
	// when to try.
	LockExcludes Rule = "lock-excludes"
	// ProcessKeyChecked: a scope is not taken from a process whose key is held.
	// Nothing unsafe follows without it, for the same reason.
	ProcessKeyChecked Rule = "process-key-checked"
	// ProcessKeyRechecked: the key is that of the process in the row once the row
	// can change no more, not of the one that was there at the first look.
	ProcessKeyRechecked Rule = "process-key-rechecked"
	// Tombstone: whoever takes a scope from a process ends its one heartbeat.
	Tombstone Rule = "tombstone"
	// AdvanceTombstones: so does an operator who advances an epoch.
	AdvanceTombstones Rule = "advance-tombstones"
	// AdvanceWaits: an operator advances an epoch only once no fence is open.
	AdvanceWaits Rule = "advance-waits"
	// LateFarewellBuries: so does a farewell over another session than the one that led.
	LateFarewellBuries Rule = "late-farewell-buries"
	// FarewellUnlocksOwn: a farewell does not unlock a scope that its session has won anew.
	FarewellUnlocksOwn Rule = "farewell-unlocks-own"
	// EvictsTheOld: only what has held a fence for longer than a lease is ended.
	EvictsTheOld Rule = "evicts-the-old"
	// DeadIsParted: a bid that finds the fence of a dead process's term busy gives that term up.
	DeadIsParted Rule = "dead-is-parted"
	// StaleForCertain: a fence with an old snapshot says of a token only what is certain.
	StaleForCertain Rule = "stale-for-certain"
	// TermsRemembered: the one heartbeat stands for the terms that its session
	// minted and did not give up, for no other.
	TermsRemembered Rule = "terms-remembered"
)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{
		rows: map[string]*row{}, locks: map[string]int64{}, sessions: map[int64]*session{},
		stones: map[int64]bool{}, fences: map[int64]*fenced{}, locked: map[string]bool{}, registered: map[int64]registration{}, system: 7, timeline: 1, broken: map[Rule]bool{},
	}
}

// Break switches a rule off.
func (s *Store) Break(r Rule) { s.broken[r] = true }

func (s *Store) keeps(r Rule) bool { return !s.broken[r] }

func (s *Store) next() int64 { s.serial++; return s.serial }

// Open begins a session and returns its key, which is also its process key.
func (s *Store) Open(now time.Duration, c election.Candidate, locks Locks) int64 {
	id := s.next()
	s.registered[id] = registration{scopes: c.Scopes, lease: max(c.Longest, c.Lease)}
	s.sessions[id] = &session{who: c, usedAt: now, locks: locks, minted: map[string]fence.Term{}, owed: map[string]fence.Term{}}
	return id
}

// Enlist changes what a session's candidate is registered for. Scopes that it withdraws from
// stay registered: the lease of a term that is under way still counts after a failover.
func (s *Store) Enlist(now time.Duration, id int64, r election.Roll) error {
	ss := s.sessions[id]
	if ss == nil {
		return election.ErrSessionLost
	}
	ss.usedAt = now
	is := s.registered[id]
	is.scopes = append(slices.Clone(is.scopes), r.Add...)
	is.lease = max(is.lease, r.Longest)
	s.registered[id] = is
	return nil
}

// Enlisted reports whether a process is registered for a scope, with a lease as long as that.
func (s *Store) Enlisted(id int64, scope string, lease time.Duration) bool {
	r := s.registered[id]
	return lease <= r.lease && slices.Contains(r.scopes, scope)
}

// Registered reports whether the store knows that a process has campaigned. A failover can
// forget it, with all that it had won.
func (s *Store) Registered(id int64) bool { _, ok := s.registered[id]; return ok }

// longest is the longest lease that a candidate of the scope has registered.
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

// Unlock frees all locks of a session that lives on, as pg_advisory_unlock_all or
// DISCARD ALL does when somebody else says it there.
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

// Expire ends what has idled for longer than its lease: sessions, and
// transactions that hold a fence. It returns the sessions it ended.
func (s *Store) Expire(now time.Duration) []int64 {
	var ended []int64
	for id, ss := range s.sessions {
		if ss.who.Takeover != election.Keep && now-ss.usedAt > ss.who.Lease {
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

// LockRow has somebody who is no candidate lock the row of a scope, or let go of it.
func (s *Store) LockRow(scope string, locked bool) { s.locked[scope] = locked }

// Alive reports whether a session lives.
func (s *Store) Alive(id int64) bool { return s.sessions[id] != nil }

// Gone reports whether a process key is free, which is how others see a process
// end.
func (s *Store) Gone(id int64) bool { return s.sessions[id] == nil || s.sessions[id].unlocked }

// Restart ends every session and transaction, as a restart of the database does.
func (s *Store) Restart() {
	s.sessions, s.locks, s.fences = map[int64]*session{}, map[string]int64{}, map[int64]*fenced{}
}

// Promote fails over to a standby that has not seen the last lag transitions,
// nor what was committed after them.
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

// remember keeps what Promote may go back to.
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
