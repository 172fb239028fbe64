package hint

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// reviewSeat decides what this node does in a namespace now, and which leader it suggests.
func (m *Machine) reviewSeat(s *seat) {
	if s.paper != nil {
		return
	}
	if m.nobodyToHear(s) {
		s.alone = m.now
	}
	connected := m.nobodyToHear(s) || m.hearsEnough(s, s.valid)
	if !m.hearsEnough(s, s.valid/2) {
		s.lastDeaf = m.now
	}
	switch {
	case m.bestClaim(s) != nil || m.othersStand(s):
		s.vacant = 0
	case s.vacant == 0:
		s.vacant = max(1, m.now)
	}
	if s.state != Following || m.bestClaim(s) != nil {
		s.unled = m.now
	}
	switch {
	case !connected:
		s.hearing = 0
	case s.hearing == 0:
		s.hearing = max(1, m.now)
	}
	switch s.state {
	case Listening, Back:
		m.endWait(s, connected)
	case Parted:
		if connected {
			m.startListening(s)
		}
	case Leading:
		c := m.bestClaim(s)
		switch {
		case c != nil && c.comesBefore(&s.own):
			m.becomeState(s, Following) // of two claims all keep the better one
		case !connected && m.now-s.alone > s.valid:
			m.stepDown(s, ErrDeaf)
		case m.isUnheard(s, c):
			m.stepDown(s, ErrUnheard)
		}
	case Following, Bystander:
	}
	if s.state == Following {
		if !connected {
			m.becomeState(s, Parted)
		} else if m.mayRaise(s) {
			m.raiseReign(s)
		}
	}
	m.suggestLeader(s)
}

// isUnheard reports whether another one goes on to claim that it leads, although this node's claim comes before it: so it
// does not hear this node, and maybe nobody does.
func (m *Machine) isUnheard(s *seat, rival *candidate) bool {
	switch {
	case rival == nil:
		s.rival = 0
	case s.rival == 0:
		s.rival = max(1, m.now)
	}
	return s.rival > 0 && rival.made > s.rival+s.valid/2
}

// endWait ends a time of listening, or of standing back.
func (m *Machine) endWait(s *seat, connected bool) {
	switch {
	case m.now < s.withdrawn: // whatever else would end
	case s.state == Back && s.mayEnd && connected && s.vacant > 0 && m.now-s.vacant > s.valid:
		m.startListening(s) // all stand back: then one that hears the others again is the best there is
	case m.now < s.until:
	case s.state == Back:
		m.startListening(s)
	case s.isOpen() && m.nobodyToHear(s) && m.now-m.began < m.cfg.Alone: // somebody may be found yet
	case m.nobodyToHear(s) || connected && m.now-s.hearing >= (listens-1)*s.beats:
		m.becomeState(s, Following)
	case connected: // it has listened to nobody for most of the time
	default:
		m.becomeState(s, Parted)
	}
}

// becomeState changes the state. What others have to know leaves at once.
func (m *Machine) becomeState(s *seat, to State) {
	led, stood := s.own.beat.Leads, s.beating
	s.state = to
	s.own.beat.Leads, s.own.beat.Stands = to == Leading, to.mayStand()
	if led && to != Leading || stood && !to.mayStand() {
		m.sendBeat(s, true)
	}
	s.beating = s.beating && to.mayStand()
}

// startListening begins to listen.
func (m *Machine) startListening(s *seat) {
	if s.state == Bystander {
		return
	}
	s.until = m.now + listens*s.beats
	m.becomeState(s, Listening)
}

// stepDown has a leader, or a node that could be one, stand back. The votes of policy paper have no word for that.
func (m *Machine) stepDown(s *seat, why error) {
	if s.state == Bystander || s.paper != nil {
		return
	}
	if s.state == Leading && m.now-s.suggested.Since > 1<<mostBacks*s.valid {
		s.backs, s.withdraws = 0, 0 // it has led well for long
	}
	if s.state != Back {
		s.until = m.now
	}
	until, times := &s.until, &s.backs
	if errors.Is(why, ErrWithdrawn) {
		until, times = &s.withdrawn, &s.withdraws
	} else {
		s.mayEnd = errors.Is(why, ErrDeaf) || errors.Is(why, ErrUnheard)
	}
	if m.now >= *until { // one that is withdrawn again while that stands goes on to be so
		*times = min(*times+1, mostBacks)
	}
	wait := s.valid << *times
	*until = m.now + wait
	if s.state == Leading {
		m.addAction(SteppedDown{Namespace: s.cfg.Name, Reign: s.own.beat.Reign, Why: why, For: wait})
	}
	s.own.beat.Reign = 0 // it is nobody's next because it led once
	m.becomeState(s, Back)
}

// bestClaim returns the first of those that claim to lead. What was said before a higher claim is over, also when that one has been
// taken back: its subject may be dead. If it lives, and the higher one is gone, its next heartbeat counts.
func (m *Machine) bestClaim(s *seat) *candidate {
	for _, c := range s.ranked {
		over := c.beat.Reign < s.led && c.made < s.ledAt
		if c.beat.Leads && !over && m.isFresh(s, c) {
			return c
		}
	}
	return nil
}

// mayRaise reports whether this node is to lead now: nobody does, it is the first of the order, and what it hears is
// worth something.
func (m *Machine) mayRaise(s *seat) bool {
	if m.bestClaim(s) != nil || !m.isNext(s) {
		return false
	}
	if m.nobodyToHear(s) {
		return true
	}
	if !s.isOpen() {
		// Two beats: at a cut everybody lapses at one time, and those beyond it must have been missed by then. And a node that
		// was cut off for so short a time that it still counts as connected hears some of them again before the leader.
		return m.hearsEnough(s, 2*s.beats) && m.now-s.lastDeaf > 2*s.beats
	}
	return s.beating && m.now-s.stood >= s.beats // the others had time to say that they come before it
}

// othersStand reports whether another candidate stands.
func (m *Machine) othersStand(s *seat) bool {
	return slices.ContainsFunc(s.ranked, func(c *candidate) bool { return m.isFresh(s, c) })
}

// isNext reports whether this node is the next to lead. It waits for each valid candidate that comes before it for a validity: one
// that stands, and does not lead after that, may be sick. A process that is stopped again and again wakes as one that listens, and
// would keep all others from leading.
func (m *Machine) isNext(s *seat) bool {
	waits := time.Duration(0)
	for _, c := range s.ranked {
		if m.isFresh(s, c) && c.comesBefore(&s.own) {
			waits += s.valid
		}
	}
	return waits == 0 || m.now-s.unled > waits && m.hearsEnough(s, 2*s.beats)
}

// raiseReign has this node lead. Alone it leads without a new reign: it could not know of the others'.
func (m *Machine) raiseReign(s *seat) {
	if !m.nobodyToHear(s) {
		if s.top >= wire.MostReign {
			if !s.ended {
				s.ended = true
				m.noteRefusal("", m.cfg.Self, ErrLastReign)
			}
			return
		}
		s.top++
		s.own.beat.Reign = s.top
	}
	s.rival, s.rumour = 0, 0
	m.becomeState(s, Leading)
	m.sendBeat(s, true)
	s.wideAt = m.now // and with the next beat again: to a node of the crowd that has missed it the next word comes after ten
}

// takeTurn gives a candidate its turn within a beat when it ceases to be silent. It is silent while it knows four candidates before itself. When those
// four are gone, all others would speak at one time, and all of that would be passed on. So they speak in the order of their hashes, and most have
// heard four others before their turn.
func (m *Machine) takeTurn(s *seat) {
	silent := s.isOpen() && (!s.state.mayStand() || !s.own.beat.Leads && !s.wouldRank(&s.own))
	if s.silent && !silent {
		s.beatAt = m.now + s.beats*time.Duration(s.own.hash>>54)/1024
	}
	s.silent = silent
}

// beatIfDue sends this node's heartbeat if it is time. Without electors only the first four of the order send theirs.
func (m *Machine) beatIfDue(s *seat) {
	m.takeTurn(s)
	if m.now < s.beatAt {
		return
	}
	for s.beatAt <= m.now {
		s.beatAt += s.beats
	}
	switch {
	case s.state == Bystander:
	case !s.isOpen():
		m.sendBeat(s, s.own.beat.Leads && m.now >= s.wideAt)
	case s.state.mayStand() && (s.own.beat.Leads || s.wouldRank(&s.own)):
		if !s.beating {
			s.beating, s.stood = true, m.now
		}
		m.sendBeat(s, true)
	default:
		s.beating = false
		if !s.state.mayStand() && len(s.ranked) < s.mostRanked() {
			m.sendBeat(s, true) // so few may lead that one of them could take its silence for its own deafness
		}
	}
}

// sendBeat sends this node's heartbeat: to everybody, or to the electors.
func (m *Machine) sendBeat(s *seat, wide bool) {
	to := s.mesh
	if wide {
		to = m.listed
		s.wideAt = m.now + time.Duration(s.cfg.crowdBeat())*m.cfg.Round
	}
	s.own.beat.Wide, s.own.beat.Host, s.own.beat.Top = wide, m.cfg.Host, s.top
	s.own.said, s.own.made = m.signStatement(s.cfg.Name, "", s.own.beat.Body()), m.now
	if s.own.name == (wire.Name{}) {
		s.own.name = s.own.said.Key().Name()
	}
	m.relaySaid(to, nil, s.own.said, m.now)
}

// suggestLeader tells which node should lead, if it is another one than before.
func (m *Machine) suggestLeader(s *seat) {
	now := Suggestion{Since: m.now}
	c := m.bestClaim(s)
	switch {
	case s.state == Leading && (c == nil || s.own.comesBefore(c)):
		now.Leader, now.Reign, now.Self = m.cfg.Self, s.own.beat.Reign, true
	case c != nil:
		now.Leader, now.Reign = c.said.Subject, c.beat.Reign
	}
	m.noteSuggestion(s, now)
}

func (m *Machine) noteSuggestion(s *seat, now Suggestion) {
	if now.Leader == s.suggested.Leader && now.Reign == s.suggested.Reign {
		return
	}
	if now.Leader == s.suggested.Leader {
		now.Since = s.suggested.Since
	}
	s.suggested = now
	s.changes++
	m.addAction(Suggested{Namespace: s.cfg.Name, Suggestion: now})
}
