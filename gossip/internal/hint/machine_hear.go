package hint

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// What becomes of a heartbeat. A subject sends one each beat, and everybody passes the first copy on, so most are copies (hearCopy). What is
// new is judged from the cheapest question to the dearest: is its subject an elector, if there are electors; is its reign no leap; is it
// young enough; does its subject stand, and would it be among the first of the order (ranked); and last, did its subject sign it. The first
// few of the order are all that a node needs to name a leader and its successors, so without electors others are not kept (hearResting).
//
// by is the peer that has brought it, said.Subject is whose heartbeat it is. isVerified is false without an error if the peer has used up what
// it may cost: then the heartbeat is dropped, and comes again with an exchange.

// hearBeat takes a heartbeat. The first copy fixes its age.
func (m *Machine) hearBeat(s *seat, by *peer, said *wire.Said) error {
	c := s.all[said.Subject]
	if c != nil && !said.Later(c.said.Incarnation, c.said.Sequence) {
		return m.hearCopy(s, c, by, said)
	}
	beat, err := wire.ReadHeartbeat(said.Body)
	switch {
	case err != nil:
		return err
	case !s.isOpen() && !s.elector[said.Subject]:
		return ErrElector
	case s.leapsTooFar(&beat):
		return fmt.Errorf("%w: reign %d is claimed, and the highest known is %d", wire.ErrReign, max(beat.Reign, beat.Top), s.top)
	case m.now-m.madeAt(said) > s.valid:
		return nil // nobody needs what is over
	}
	fresh := &candidate{said: *said, beat: beat, made: m.madeAt(said), beats: newAllowance(beatsEach, 8, m.now)}
	if c == nil {
		fresh.hash, fresh.name, fresh.first = orderHash(s.cfg.Name, said.Subject), said.Key().Name(), fresh.made
		if s.isOpen() && !s.wouldRank(fresh) {
			return m.hearResting(s, by, fresh)
		}
	} else {
		fresh.hash, fresh.name, fresh.first, fresh.twinQuiet, fresh.last = c.hash, c.name, c.first, c.twinQuiet, c.last
		fresh.beats = c.beats
		if said.Incarnation > c.said.Incarnation {
			fresh.first, fresh.last = fresh.made, life{c.said.Incarnation, c.said.Sequence}
		}
	}
	if is, err := m.isVerified(by, said); !is {
		return err
	}
	if c == nil && s.elector[m.cfg.Self] && !s.elector[by.Subject] {
		m.hearRumour(s, &beat) // electors send each other theirs; the crowd's word alone makes nobody a candidate
		return nil
	}
	if c != nil {
		fresh.direct = c.direct
	}
	fresh.direct = m.noteDirect(by, said, fresh.direct)
	if c == nil {
		c = fresh
		if !s.addCandidate(c, m.now) {
			return nil
		}
	} else {
		*c = *fresh
	}
	wasRanked := slices.Contains(s.ranked, c)
	m.noteBeat(s, c)
	if m.passesOn(s, c, wasRanked) {
		m.relaySaid(m.relayTargets(s, c), by, c.said, c.made)
	}
	m.reviewSeat(s)
	return nil
}

// leapsTooFar reports whether a heartbeat has a reign that no crowd comes to. A reign is raised by one for each new leader; one word must not
// take all that are left. A node that knows of none believes the first half.
func (s *seat) leapsTooFar(b *wire.Heartbeat) bool {
	most := s.top + mostLeap
	if s.top == 0 {
		most = wire.MostReign / 2
	}
	return max(b.Reign, b.Top) > most
}

// hearRumour takes what the crowd brings to an elector of one that it has not met. It may be old, and its subject dead. But the
// crowd may believe a claim that comes before the leader's, so that one takes a reign above it.
func (m *Machine) hearRumour(s *seat, beat *wire.Heartbeat) {
	switch {
	case s.state != Leading || !beat.Leads || beat.Reign < s.own.beat.Reign:
	case s.rumour == 0:
		s.rumour = max(1, m.now)
	case m.now-s.rumour > s.valid/2: // a living one would have been heard
		s.top = max(s.top, beat.Reign)
		m.raiseReign(s)
		m.suggestLeader(s)
	}
}

// passesOn reports whether a heartbeat is passed on. A subject says few, unless it floods; a relay that passes all of that on
// would look like its source. What is left out comes with an exchange.
func (m *Machine) passesOn(s *seat, c *candidate, wasRanked bool) bool {
	if wasRanked {
		return c.beats.takeCost(1, m.now, m.cfg.Round)
	}
	return s.others.takeCost(1, m.now, m.cfg.Round)
}

// hearResting takes the heartbeat of a subject that does not stand, or not among the first. It is not kept; that a neighbour is
// there is worth knowing, since a leader that hears nobody steps down.
func (m *Machine) hearResting(s *seat, by *peer, c *candidate) error {
	if by.Subject != c.said.Subject || c.made <= s.heard || len(s.ranked) >= s.mostRanked() {
		return nil
	}
	if is, err := m.isVerified(by, &c.said); !is {
		return err
	}
	s.heard = c.made
	m.reviewSeat(s)
	return nil
}

// noteBeat notes what a heartbeat says.
func (m *Machine) noteBeat(s *seat, c *candidate) {
	s.placeCandidate(c)
	s.heard = max(s.heard, c.made)
	s.top = max(s.top, c.beat.Reign, c.beat.Top)
	if c.beat.Leads && c.beat.Reign > s.led {
		s.led, s.ledAt = c.beat.Reign, c.made
	}
}

// relayTargets returns where a heartbeat goes: in an open namespace to everybody, with electors to the crowd only if its
// subject wants it, and to the other electors if it leads. Electors send each other theirs directly.
func (m *Machine) relayTargets(s *seat, c *candidate) []*peer {
	switch {
	case s.isOpen() || c.beat.Wide:
		return m.listed
	case c.beat.Leads && s.state != Bystander:
		return s.mesh
	}
	return nil
}

// hearCopy takes a copy of a heartbeat that is known, or one that is older. It changes nothing; but it may show that a
// subject's sequence goes back, or that two hosts have one key.
func (m *Machine) hearCopy(s *seat, c *candidate, by *peer, said *wire.Said) error {
	same := said.Incarnation == c.said.Incarnation && said.Sequence == c.said.Sequence
	if same && m.isFresh(s, c) && !slices.Contains(s.ranked, c) && s.placeCandidate(c) {
		m.reviewSeat(s) // it had to leave for one that has left in turn
	}
	if by.Subject == said.Subject && said.Incarnation < c.said.Incarnation {
		m.addAction(Send{To: []string{by.Name}, Parcel: wire.Parcel{Said: []wire.Said{m.withAge(c.said, c.made)}}}) // it has to begin above its last life
	}
	// An earlier incarnation goes on after a later one began, and that runs too.
	late := said.Incarnation < c.said.Incarnation && m.madeAt(said) > c.first+remembers*s.valid && m.now-c.made <= remembers*s.valid
	double := same && !bytes.Equal(said.Signature, c.said.Signature)
	if (late || double) && m.now >= c.twinQuiet {
		if is, err := m.isVerified(by, said); !is {
			return err
		}
		if beat, err := wire.ReadHeartbeat(said.Body); err == nil && (double || c.goesOn(said, beat.Host)) {
			if said.Incarnation == c.last.incarnation {
				c.last.sequence = said.Sequence
			}
			m.tellTwin(c, beat.Host, c.beat.Host)
		}
	}
	return m.goesBack(by, said, &c.direct)
}

// isFresh reports whether a heartbeat still counts.
func (m *Machine) isFresh(s *seat, c *candidate) bool { return m.now-c.made <= s.valid }

// lapseBeats drops candidates that were not heard within the validity, and forgets them later: until then a copy of an old
// heartbeat is known as one. Electors are never forgotten: anybody may have kept what a dead one said, and bring it again as
// if it were new. There are few of them; without electors a key costs nothing, and so many cannot be remembered.
func (m *Machine) lapseBeats(s *seat) {
	s.ranked = slices.DeleteFunc(s.ranked, func(c *candidate) bool { return !m.isFresh(s, c) })
	if m.now <= s.forgetAt {
		return
	}
	s.forgetAt = m.now + (forgets-1)*s.valid // of what comes from now on none is older than a validity
	for subject, c := range s.all {
		switch until := c.made + forgets*s.valid; {
		case s.elector[subject]:
		case m.now > until:
			delete(s.all, subject)
		default:
			s.forgetAt = min(s.forgetAt, until)
		}
	}
}

// hearsEnough reports whether this node hears enough others, within a time: with electors a majority of them, itself
// counted, and else anybody.
func (m *Machine) hearsEnough(s *seat, within time.Duration) bool {
	if s.isOpen() {
		return m.now-s.heard <= within
	}
	heard := 0
	if s.elector[m.cfg.Self] {
		heard++
	}
	for subject, c := range s.all {
		if s.elector[subject] && m.now-c.made <= within {
			heard++
		}
	}
	return heard > len(s.elector)/2
}

// nobodyToHear reports whether there is nobody to hear: no connection, and no elector but this node.
func (m *Machine) nobodyToHear(s *seat) bool {
	return s.isOpen() && len(m.listed) == 0 || len(s.elector) == 1 && s.elector[m.cfg.Self]
}
