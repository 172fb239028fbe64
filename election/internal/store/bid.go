package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Look is the first half of a bid: it finds out which of the scopes' processes are gone, and
// holds their keys until Try, the second half, which may come later.
func (s *Store) Look(id int64, bids []mint.Bid) {
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

// Try answers bids as conch.bid does in the database, but always at once: if a bid asks to
// block, the caller must wait itself.
func (s *Store) Try(now time.Duration, id int64, bids []mint.Bid) ([]mint.Result, error) {
	ss := s.sessions[id]
	if ss == nil || s.tombstones[id] {
		return nil, mint.ErrSessionLost
	}
	ss.usedAt = now
	if ss.looked == nil {
		s.Look(id, bids)
	}
	defer func() { ss.dead, ss.looked = nil, nil }()
	results := make([]mint.Result, len(bids))
	for i, b := range bids {
		delete(ss.minted, b.Scope)
		results[i] = s.bid(now, id, ss, b)
		if results[i].Outcome == mint.Won {
			ss.minted[b.Scope] = results[i].Token.Term
		}
	}
	return results, nil
}

func (s *Store) bid(now time.Duration, id int64, ss *session, b mint.Bid) mint.Result {
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
	res := mint.Result{Scope: b.Scope, Holder: r.token.Holder, Process: r.process, Term: r.token.Term}
	if s.takeable(r, id, ss) { // nobody leads it
		res.Holder, res.Process = "", 0
	}
	switch {
	case r.takeover != who.Takeover && !r.released:
		s.unlock(id, b.Scope)
		res.Outcome, res.Why = mint.Refused, fmt.Errorf("takeover is %q, not %q", r.takeover, who.Takeover)
		return res
	case r.to != "" && r.to != who.ID && r.partedAt <= now && now < r.partedAt+2*time.Second:
		// partedAt <= now: a clock set back by an hour must not keep the others out for an hour.
		s.unlock(id, b.Scope)
		res.Outcome = mint.Yield
		return res
	case !s.takeable(r, id, ss):
		s.unlock(id, b.Scope) // the bidder may have it: a holder under ProcessLocks does not
		return res
	}
	if ss.locks == SessionLocks {
		if holder, taken := s.locks[b.Scope]; taken && holder != id && s.keeps(LockExcludes) {
			return res
		}
		s.locks[b.Scope] = id
	}
	if b.Evict {
		res.Blockers = s.evict(now, b)
	}
	if s.Fenced(b.Scope) {
		s.partDead(now, r, id)
		res.Outcome = mint.Busy
		return res
	}
	if s.RowTaken(b.Scope) { // no bid waits for a row
		s.unlock(id, b.Scope)
		if b.Explain {
			res.Outcome, res.Why = mint.Locked, errors.New("its row is locked")
		}
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

// partDead gives up the term of a dead process whose transactions hold the fence, so that no
// more of them pass it.
func (s *Store) partDead(now time.Duration, r *row, id int64) {
	if r.parted || s.RowTaken(r.token.Scope) || !s.keeps(DeadIsParted) {
		return
	}
	s.part(now, id, mint.Farewell{Token: r.token, How: mint.EndedByLoss})
}

// takeable reports whether no other process can be leading the scope: it was given up, or its
// process is this one or gone. The process that Look found must still be in the row.
func (s *Store) takeable(r *row, id int64, ss *session) bool {
	if !s.keeps(ProcessKeyRechecked) {
		_, seen := ss.looked[r.token.Scope]
		return seen
	}
	return r.parted || r.process == id || ss.dead[r.process]
}

// bury puts a tombstone on a process: its bids fail, and under ProcessLocks its heartbeat.
func (s *Store) bury(process int64, because Rule) {
	if s.keeps(because) {
		s.tombstones[process] = true
	}
}

// Advance raises an epoch as conch.advance does, and deposes the leader. It returns false and
// changes nothing while a transaction holds the fence: the caller must try again.
func (s *Store) Advance(now time.Duration, scope string) bool {
	r := s.rows[scope]
	switch {
	case s.Fenced(scope) && s.keeps(AdvanceWaits):
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
	r.parted, r.partedAt, r.to, r.version = true, now, "", s.next()
	return true
}

// jump returns how far an epoch must jump past those that a failover can have lost: a million
// for each timeline since the row's. If it jumped by the timeline itself, jumps would add up
// over several failovers, and a standby that lags behind all of them would make one jump
// where the lost row had made many.
func (s *Store) jump(r *row) int64 {
	timelines := int64(s.timeline)
	if r.system == s.system {
		timelines = max(1, timelines-int64(r.timeline))
	}
	return 1_000_000 * timelines
}

// mint is the only place that makes a leader.
func (s *Store) mint(r *row, id int64, who mint.Candidate, b mint.Bid, res *mint.Result) {
	s.remember()
	same := r.system == s.system && r.timeline == s.timeline
	over := r.released && (same || !s.keeps(ReleaseInHistory))
	handoff := over && !r.lost && r.token.Epoch > 0
	hold := max(b.Lease, r.hold)
	if !same && s.keeps(LeasesRegistered) {
		hold = max(hold, s.longest(b.Scope))
	}
	if over || !s.keeps(HoldWaits) {
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
	if !s.keeps(HoldOwnLease) && over {
		stored = 0
	}
	*r = row{
		token: fence.Token{
			Scope: b.Scope, Holder: who.ID, Epoch: epoch, Term: s.newTerm(),
			System: s.system, Timeline: s.timeline,
		},
		lease: b.Lease, hold: stored, process: id, takeover: who.Takeover, system: s.system, timeline: s.timeline,
		version: s.next(),
	}
	s.log(b.Scope, epoch, who.ID, "acquired")
	res.Outcome, res.Token, res.Hold, res.Handoff = mint.Won, r.token, hold, handoff
	res.Holder, res.Process = who.ID, id
}

func (s *Store) log(scope string, epoch int64, holder, event string) {
	s.History = append(s.History, Event{Scope: scope, Epoch: epoch, Holder: holder, Event: event})
}

// Beat renews terms and answers in the order of the pulses.
func (s *Store) Beat(now time.Duration, id int64, pulses []mint.Pulse) ([]mint.Outcome, error) {
	ss := s.sessions[id]
	if ss == nil {
		return nil, mint.ErrSessionLost
	}
	ss.usedAt = now
	answers := make([]mint.Outcome, len(pulses))
	if ss.locks == ProcessLocks && len(pulses) > 0 && s.tombstones[id] {
		return nil, mint.ErrSessionLost
	}
	for i, p := range pulses {
		answers[i] = mint.Over
		r := s.rows[p.Token.Scope]
		if r == nil {
			continue
		}
		var alive bool
		current := r.token.Term == p.Token.Term
		switch {
		case ss.locks == ProcessLocks: // the row is not even read
			alive = ss.minted[p.Token.Scope] == p.Token.Term || !s.keeps(TermsRemembered)
		case s.keeps(TermInPredicate):
			alive = current
		default:
			alive = r.token.Holder == p.Token.Holder
		}
		if (p.Settle || ss.owed[p.Token.Scope] == p.Token.Term) && (current || alive && !s.keeps(TermInPredicate)) {
			s.settle(r, ss, p.Token)
		}
		if alive {
			answers[i] = mint.Renewed
		}
	}
	return answers, nil
}

// settle lowers the hold to the term's lease. If the row is locked, the next heartbeat does it.
func (s *Store) settle(r *row, ss *session, t fence.Token) {
	if s.RowTaken(t.Scope) {
		ss.owed[t.Scope] = t.Term
		return
	}
	delete(ss.owed, t.Scope)
	if r.hold != r.lease {
		r.hold, r.version = r.lease, s.next()
	}
}

// Poison is a text that the mint cannot store. If the reason of a farewell contains it, the
// whole Release fails.
const Poison = "\xff"

// ErrPoisoned is the error of a Release that contains Poison. It has no effect.
var ErrPoisoned = errors.New("store: invalid byte sequence")

// Release gives terms up, and unlocks the scopes of those that are answered Said or Over.
func (s *Store) Release(now time.Duration, id int64, farewells []mint.Farewell) ([]mint.Parting, error) {
	ss := s.sessions[id]
	if ss == nil {
		return nil, mint.ErrSessionLost
	}
	ss.usedAt = now
	for _, f := range farewells {
		if !f.Bare && strings.Contains(f.Reason, Poison) {
			return nil, ErrPoisoned
		}
	}
	out := make([]mint.Parting, len(farewells))
	for i, f := range farewells {
		term, led := ss.minted[f.Token.Scope]
		wonAgain := led && term != f.Token.Term // its lock stays
		if led && !wonAgain {
			delete(ss.minted, f.Token.Scope)
		}
		out[i] = s.part(now, id, f)
		if out[i].Outcome != mint.Locked && (!wonAgain || !s.keeps(FarewellUnlocksOwn)) {
			s.unlock(id, f.Token.Scope)
		}
	}
	return out, nil
}

// part carries out one farewell, without waiting for the row.
func (s *Store) part(now time.Duration, id int64, f mint.Farewell) mint.Parting {
	r := s.rows[f.Token.Scope]
	switch {
	case r == nil || r.token.Term != f.Token.Term:
		return mint.Parting{Outcome: mint.Over}
	case r.parted && (r.released || !f.Released): // said before
		return mint.Parting{Outcome: mint.Said}
	case s.RowTaken(f.Token.Scope):
		return mint.Parting{Outcome: mint.Locked, By: "somebody"}
	}
	s.remember()
	if !r.parted && r.process != id {
		s.bury(r.process, LateFarewellBuries)
	}
	r.released, r.parted, r.to, r.partedAt = f.Released, true, f.To, now
	r.version = s.next()
	r.lost = f.How == mint.EndedByLoss
	if !f.Bare {
		s.log(f.Token.Scope, r.token.Epoch, r.token.Holder, eventOf(f))
	}
	return mint.Parting{Outcome: mint.Said}
}

func eventOf(f mint.Farewell) string {
	switch {
	case f.How != mint.EndedByRequest:
		return string(f.How)
	case f.To != "":
		return "transferred"
	case f.Actor != "":
		return "drained"
	case f.Released:
		return "released"
	}
	return "lost"
}

func (s *Store) unlock(id int64, scope string) {
	if s.locks[scope] == id {
		delete(s.locks, scope)
	}
}

// Epoch returns the epoch in the row of a scope; 0 if there is none.
func (s *Store) Epoch(scope string) int64 {
	if r := s.rows[scope]; r != nil {
		return r.token.Epoch
	}
	return 0
}

// Unlocked lists the scopes that a session under SessionLocks leads although it has freed
// their lock itself.
func (s *Store) Unlocked() []string {
	var all []string
	for _, scope := range s.Scopes() {
		r := s.rows[scope]
		ss := s.sessions[r.process]
		if ss != nil && !r.parted && ss.locks == SessionLocks && !ss.unlocked && ss.minted[scope] == r.token.Term && s.locks[scope] != r.process {
			all = append(all, scope)
		}
	}
	return all
}

// Scopes lists the scopes for which any session has bid.
func (s *Store) Scopes() []string {
	var all []string
	for scope := range s.rows {
		all = append(all, scope)
	}
	slices.Sort(all)
	return all
}
