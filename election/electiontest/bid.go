package electiontest

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Look is the first half of a bid: it finds out which of the scopes' processes are
// gone, and keeps their keys until the second half, Try, which may come later.
func (s *Store) Look(id int64, bids []election.Bid) {
	ss := s.sessions[id]
	if ss == nil {
		return
	}
	ss.dead, ss.looked = map[int64]bool{}, map[string]int64{}
	for _, b := range bids {
		r := s.rows[b.Scope]
		switch {
		case r == nil || r.parted || r.process == id:
			ss.looked[b.Scope] = 0
		case s.Gone(r.process) || !s.keeps(ProcessKeyChecked) || !s.keeps(LockExcludes):
			ss.looked[b.Scope] = r.process
			ss.dead[r.process] = true
		}
	}
}

// Try answers bids as conch.bid does in the database. Bids that ask to block are
// answered at once: waiting is the caller's part.
func (s *Store) Try(now time.Duration, id int64, bids []election.Bid) ([]election.Result, error) {
	ss := s.sessions[id]
	if ss == nil || s.stones[id] {
		return nil, election.ErrSessionLost
	}
	ss.usedAt = now
	if ss.looked == nil {
		s.Look(id, bids)
	}
	defer func() { ss.dead, ss.looked = nil, nil }()
	results := make([]election.Result, len(bids))
	for i, b := range bids {
		delete(ss.minted, b.Scope)
		results[i] = s.bid(now, id, ss, b)
		if results[i].Outcome == election.Won {
			ss.minted[b.Scope] = results[i].Token.Term
		}
	}
	return results, nil
}

func (s *Store) bid(now time.Duration, id int64, ss *session, b election.Bid) election.Result {
	who := ss.who
	r := s.rows[b.Scope]
	if r == nil {
		r = &row{released: true, parted: true, takeover: who.Takeover, system: s.system, timeline: 1, partedAt: -time.Hour}
		if s.timeline != 1 {
			r.released = false
		}
		r.token.Scope = b.Scope
		s.rows[b.Scope] = r
	}
	res := election.Result{Scope: b.Scope, Holder: r.token.Holder, Process: r.process}
	switch {
	case r.takeover != who.Takeover && !r.released:
		s.unlock(id, b.Scope)
		res.Outcome, res.Why = election.Refused, fmt.Errorf("takeover is %q, not %q", r.takeover, who.Takeover)
		return res
	case r.to != "" && r.to != who.ID && r.partedAt <= now && now < r.partedAt+2*time.Second:
		// Not before it began, either: a clock set back by an hour must not hold
		// everybody else off for an hour.
		s.unlock(id, b.Scope)
		res.Outcome = election.Yield
		return res
	case !s.takeable(r, id, ss):
		s.unlock(id, b.Scope) // a holder of the other mode holds no scope lock
		return res
	}
	if ss.locks == SessionLocks {
		if holder, taken := s.locks[b.Scope]; taken && holder != id && s.keeps(LockExcludes) {
			return res
		}
		s.locks[b.Scope] = id
	}
	if b.Evict {
		res.Evicted = s.evict(b.Scope)
	}
	if s.fencedNow(b.Scope) {
		res.Outcome = election.Busy
		return res
	}
	if !r.parted && r.process != id {
		gone := r.process
		if !s.keeps(ProcessKeyRechecked) {
			gone = ss.looked[b.Scope]
		}
		s.bury(gone, Tombstone)
	}
	s.mint(r, id, who, b, &res)
	return res
}

// takeable tells whether nobody can be leading: the scope was given up, or its
// process is this one or gone. What was seen at the look must still be in the row.
func (s *Store) takeable(r *row, id int64, ss *session) bool {
	if !s.keeps(ProcessKeyRechecked) {
		_, seen := ss.looked[r.token.Scope]
		return seen
	}
	return r.parted || r.process == id || ss.dead[r.process]
}

// bury tombstones a process: its one heartbeat fails from now on.
func (s *Store) bury(process int64, because Rule) {
	if s.keeps(because) {
		s.stones[process] = true
	}
}

// Advance raises an epoch as conch.advance does. Whoever leads is deposed. It is false,
// and nothing has changed, while a fence is open: whoever asks has to wait for that.
func (s *Store) Advance(now time.Duration, scope string) bool {
	r := s.rows[scope]
	switch {
	case s.fencedNow(scope) && s.keeps(AdvanceWaits):
		return false
	case r == nil:
		return true
	}
	s.remember()
	if !r.parted {
		s.bury(r.process, AdvanceTombstones)
	}
	s.log(scope, r.token.Epoch, r.token.Holder, "evicted")
	r.released = r.released && r.parted
	r.token.Epoch, r.token.Term = r.token.Epoch+1, s.newTerm()
	r.parted, r.partedAt, r.to = true, now, ""
	return true
}

func (s *Store) fencedNow(scope string) bool {
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

func (s *Store) evict(scope string) (ended []election.Blocker) {
	for id, f := range s.fences {
		if f.token.Scope == scope {
			ended = append(ended, election.Blocker{PID: int32(id), Query: f.queries})
			delete(s.fences, id)
		}
	}
	return ended
}

// jump is how far an epoch must leap over those that a failover can have lost:
// a million for each timeline since the row's. By the difference and not by the
// timeline itself: jumps would add up over several failovers, and a standby that
// lags behind all of them would make one jump where the lost row had made many.
func (s *Store) jump(r *row) int64 {
	timelines := int64(s.timeline)
	if r.system == s.system {
		timelines = max(1, timelines-int64(r.timeline))
	}
	return 1_000_000 * timelines
}

// mint is the one place that makes a leader.
func (s *Store) mint(r *row, id int64, who election.Candidate, b election.Bid, res *election.Result) {
	s.remember()
	same := r.system == s.system && r.timeline == s.timeline
	handoff := r.released && (same || !s.keeps(ReleaseInHistory))
	hold := max(b.Lease, r.hold)
	if !same && s.keeps(LeasesRegistered) {
		hold = max(hold, s.longest)
	}
	if handoff || !s.keeps(HoldWaits) {
		hold = 0
	}
	epoch := r.token.Epoch + 1
	if !same && s.keeps(EpochJumps) {
		epoch += s.jump(r)
	}
	if r.token.Epoch > 0 && !r.parted {
		s.log(b.Scope, r.token.Epoch, r.token.Holder, "lost")
	}
	stored := max(hold, b.Lease)
	if !s.keeps(HoldStored) {
		stored = b.Lease
	}
	if !s.keeps(HoldOwnLease) && handoff {
		stored = 0
	}
	*r = row{
		token: fence.Token{
			Scope: b.Scope, Holder: who.ID, Epoch: epoch, Term: s.newTerm(),
			System: s.system, Timeline: s.timeline,
		},
		lease: b.Lease, hold: stored, process: id, takeover: who.Takeover, system: s.system, timeline: s.timeline,
	}
	s.log(b.Scope, epoch, who.ID, "acquired")
	res.Outcome, res.Token, res.Hold, res.Handoff = election.Won, r.token, hold, handoff
	res.Holder, res.Process = who.ID, id
}

func (s *Store) log(scope string, epoch int64, holder, event string) {
	s.History = append(s.History, Event{Scope: scope, Epoch: epoch, Holder: holder, Event: event})
}

// Beat renews terms.
func (s *Store) Beat(now time.Duration, id int64, pulses []election.Pulse) ([]bool, error) {
	ss := s.sessions[id]
	if ss == nil {
		return nil, election.ErrSessionLost
	}
	ss.usedAt = now
	alive := make([]bool, len(pulses))
	if ss.locks == ProcessLocks && len(pulses) > 0 && s.stones[id] {
		return nil, election.ErrSessionLost
	}
	for i, p := range pulses {
		r := s.rows[p.Token.Scope]
		if r == nil {
			continue
		}
		current := r.token.Term == p.Token.Term
		switch {
		case ss.locks == ProcessLocks: // the row is not even read
			alive[i] = ss.minted[p.Token.Scope] == p.Token.Term || !s.keeps(TermsRemembered)
		case s.keeps(TermInPredicate):
			alive[i] = current
		default:
			alive[i] = r.token.Holder == p.Token.Holder
		}
		if p.Settle && (current || alive[i] && !s.keeps(TermInPredicate)) {
			r.hold = r.lease
		}
	}
	return alive, nil
}

// Release gives terms up, then unlocks.
func (s *Store) Release(now time.Duration, id int64, farewells []election.Farewell) ([]bool, error) {
	ss := s.sessions[id]
	if ss == nil {
		return nil, election.ErrSessionLost
	}
	ss.usedAt = now
	current := make([]bool, len(farewells))
	for i, f := range farewells {
		if ss.minted[f.Token.Scope] == f.Token.Term {
			delete(ss.minted, f.Token.Scope)
		}
		r := s.rows[f.Token.Scope]
		if r != nil && r.token.Term == f.Token.Term {
			current[i] = true
			s.remember()
			if !r.parted && r.process != id {
				s.bury(r.process, LateFarewellBuries)
			}
			r.released, r.parted, r.to, r.partedAt = f.Released, true, f.To, now
			event := "lost"
			switch {
			case f.To != "":
				event = "transferred"
			case f.Actor != "":
				event = "drained"
			case f.Released:
				event = "released"
			}
			s.log(f.Token.Scope, r.token.Epoch, r.token.Holder, event)
		}
		s.unlock(id, f.Token.Scope)
	}
	return current, nil
}

func (s *Store) unlock(id int64, scope string) {
	if s.locks[scope] == id {
		delete(s.locks, scope)
	}
}

// Fence begins a fenced transaction: the fence is its last statement. The id is
// for CommitFenced.
func (s *Store) Fence(now time.Duration, t fence.Token) (int64, error) {
	r := s.rows[t.Scope]
	foreign := r != nil && (r.system != s.system || r.timeline != s.timeline)
	if r == nil || r.parted || foreign || !r.token.Same(t) {
		return 0, fence.ErrStale
	}
	id := s.next()
	s.fences[id] = &fenced{token: t, idleAt: now, lease: r.lease, queries: "fenced"}
	return id, nil
}

// CommitFenced commits it, unless it was ended meanwhile.
func (s *Store) CommitFenced(id int64) bool {
	f := s.fences[id]
	if f == nil {
		return false
	}
	delete(s.fences, id)
	s.Ledger = append(s.Ledger, Commit{Scope: f.token.Scope, Epoch: f.token.Epoch, Term: f.token.Term})
	return true
}

// Epoch is the one in the row of a scope; 0 if there is none.
func (s *Store) Epoch(scope string) int64 {
	if r := s.rows[scope]; r != nil {
		return r.token.Epoch
	}
	return 0
}

// Scopes lists the scopes that were ever bid for.
func (s *Store) Scopes() []string {
	var all []string
	for scope := range s.rows {
		all = append(all, scope)
	}
	slices.Sort(all)
	return all
}
