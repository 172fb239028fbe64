package hint

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// allowance is how much may be spent: each round adds so much, little by little, and what is not spent is kept, up to what some rounds add. If a
// round added it all at once, a flood that comes right after that would leave nothing to what comes later.
type allowance struct {
	each  int
	most  int
	left  int
	since time.Duration // left was counted
	quiet time.Duration // until then nothing is told of it
}

func newAllowance(each, times int, now time.Duration) allowance {
	return allowance{each: each, most: times * each, left: times * each, since: now}
}

// hasLeft reports whether so much is left.
func (a *allowance) hasLeft(cost int, now, round time.Duration) bool {
	if past := now - a.since; past >= time.Duration(a.most/a.each)*round {
		a.left, a.since = a.most, now
	} else if added := int(past * time.Duration(a.each) / round); added > 0 {
		a.left = min(a.left+added, a.most)
		a.since += time.Duration(added) * round / time.Duration(a.each)
	}
	return a.left >= cost
}

// takeCost spends some of the allowance. It is false, and nothing is spent, if so much is not left.
func (a *allowance) takeCost(cost int, now, round time.Duration) bool {
	if !a.hasLeft(cost, now, round) {
		return false
	}
	a.left -= cost
	return true
}

// purse is what a peer may cost.
type purse struct {
	allowance           // for the messages and statements that it brings, and for what it asks
	news      allowance // for the signatures of news, since to verify them is most of what takes a processor's time
	relays    allowance // for all news that is new here, as much as an honest node relays of a flood: it is named only beyond that
	beats     allowance // for the signatures of heartbeats and votes: news that a peer brings takes none of it
}

// newPurse returns that of a peer which has cost nothing. It has half of the room that there is for news, so that one peer that floods leaves the
// other half, here and at all nodes that this one passes its news on to. Few signatures are verified at once: nothing else is done meanwhile, and
// on a busy machine that takes long.
func (m *Machine) newPurse() purse {
	beats := len(m.order) * (standbys*beatsEach + mostBeats)
	return purse{
		allowance: newAllowance(m.cfg.flood, 8, m.now),
		news:      newAllowance(freshNews/2, 2, m.now), relays: newAllowance(freshNews, mostTold+1, m.now), // its rounds begin at another time
		beats: newAllowance(beats, 2, m.now),
	}
}

// isWhole reports whether all allowances are full again, so that nothing is lost if the purse is forgotten.
func (p *purse) isWhole(now, round time.Duration) bool {
	for _, a := range []*allowance{&p.allowance, &p.news, &p.relays, &p.beats} {
		if !a.hasLeft(a.most, now, round) {
			return false
		}
	}
	return true
}

// isVerified reports whether a subject has signed what a peer brings. That is dear, so there is an allowance for it: a peer could else
// keep this node busy with what is left out afterwards, until the heartbeats of others come too late. What an elector itself says costs nothing.
func (m *Machine) isVerified(by *peer, s *wire.Said) (is bool, err error) {
	own := s.Topic == "" && by.Subject == s.Subject && m.seats[s.Namespace].elector[s.Subject]
	switch {
	case s.Topic != "" && !by.relays.takeCost(1, m.now, m.cfg.Round):
		m.tooMuch(by, &by.relays, ErrNews)
		return false, nil
	case s.Topic != "" && !by.news.takeCost(1, m.now, m.cfg.Round):
		m.refused[ErrNews]++
		return false, nil
	case s.Topic == "" && !own && !by.beats.takeCost(1, m.now, m.cfg.Round):
		m.tooMuch(by, &by.beats, ErrFlood)
		return false, nil
	case !m.cfg.Scheme.Verify(s.Subject, s.Signed(), s.Signature):
		return false, ErrSignature
	}
	return true, nil
}

// tooMuch counts what an allowance has no room for. That is told once in a round.
func (m *Machine) tooMuch(by *peer, of *allowance, why error) {
	m.refused[why]++
	if m.now >= of.quiet {
		of.quiet = m.now + m.cfg.Round
		m.addAction(Refused{From: by.Name, Why: why})
	}
}
