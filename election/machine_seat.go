package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// phase is where a seat is: waiting → leading → closing → waiting.
type phase uint8

const (
	waiting phase = iota // not leading; bids at tryAt
	leading              // a token is held
	closing              // the gate is shut, the role is ending
)

// seat is the machine's view of one scope. What belongs to a phase is replaced whole when
// the phase begins.
type seat struct {
	SeatSettings
	place   int           // among the seats
	next    *SeatSettings // of the next term, if they change
	state   phase
	asked   bool          // somebody asked for the scope and is told when it is given up
	resting bool          // others go first once it is given up
	retired bool          // not campaigned for any more
	listing bool          // the request under way puts it on the mint's roll, or takes it off
	listed  bool          // the mint's roll has it
	away    fence.Instant // no bid before this
	news
	bidding
	tenure
	ending
	untold
}

// news is what is known of others; it outlives terms.
type news struct {
	holder   string
	gone     int64         // the process key whose end was seen last
	ledAt    fence.Instant // when somebody was last known to lead, or might have unseen
	unledAt  fence.Instant // when it was last reported that nobody does; 0: it was not
	unledWhy string        // what was reported as the reason
}

// bidding is when to bid next, and what was found so far. It begins anew with each term.
type bidding struct {
	tryAt     fence.Instant
	polled    bool  // bid for with the next poll instead
	failures  int   // tries in a row that ended in an error and were not split
	crowd     int   // since an error, how many may be in one bid with it; 0: any number
	nudges    int   // quick tries left after a wake
	before    int64 // the holder's process at that wake, 0 if it was not known
	process   int64 // the holder's process key, while it may be alive
	stale     bool  // the holder's heartbeats have stopped, and that was reported
	busySince fence.Instant
	stuck     bool // something holds it that cannot be ended, and that was reported
	firstBid  fence.Instant
	restTill  fence.Instant // others go first until then, unless one has
}

// tenure is the present term, or the last.
type tenure struct {
	token    fence.Token
	actFrom  fence.Instant
	holdEnds fence.Instant // every predecessor's gate is shut by then
	deadline fence.Instant
	entered  bool // the act door had opened
	settling bool // the heartbeat under way says so to the mint
	settled  bool // the mint knows
	late     bool
	lateFrom fence.Instant
	unsure   error // why the last heartbeat did not say whether the term is current
}

// ending is how the term ends, while its role does.
type ending struct {
	why       error
	parting   Farewell // what the farewell will be once acts have ended
	draining  bool     // on request, and no heartbeat has said that the term is over
	drainBy   fence.Instant
	abandoned bool // it was said, or cannot be said, though acts had not ended
}

// untold is a farewell that the mint has not confirmed; it outlives the term.
type untold struct {
	farewell *Farewell
	saying   *Farewell     // the one under way
	sayAt    fence.Instant // not before this
	sayFrom  fence.Instant // when it was first tried in vain
	sayings  int           // tries in vain
	company  int           // since an error, how many may be said with it; 0: any number
	unheard  bool          // a try ended in an error: it may have been heard
	unsaid   bool          // that it cannot be said was reported
}

// window is how long after its sending a heartbeat keeps the gate open.
func (s *seat) window() time.Duration { return min(s.Lease-s.Margin, s.Late) }

// alone: this term's act door had opened, and no earlier gate can be open any more. Until
// then a successor has to go on assuming one, so nothing is said that would let it act
// earlier: fast opens the door before, but the next term may be one that waits.
func (s *seat) alone(now fence.Instant) bool { return s.entered && now >= s.holdEnds }

// open begins a term.
func (m *Machine) open(s *seat, now, sent fence.Instant, r Result) {
	took := now.Sub(s.firstBid)
	s.state, s.bidding, s.ending, s.untold = leading, bidding{}, ending{}, untold{}
	// The mint stored the longer of hold and lease; there is something to lower
	// only if that was the hold.
	s.tenure = tenure{token: r.Token, holdEnds: now.Add(r.Hold), deadline: sent.Add(s.window()), settled: r.Hold <= s.Lease}
	s.actFrom = s.holdEnds
	if m.set.Takeover == Fast {
		s.actFrom = now
	}
	m.led(s, now)
	m.do(Open{Token: s.token, ActFrom: s.actFrom, Deadline: s.deadline})
	m.report(Fact{Kind: Acquired, Scope: s.Scope, Token: s.token, Hold: r.Hold, Handoff: r.Handoff, Took: took})
}

// shut ends a term: first the gate, then the role; what is said to the mint
// waits for the acts to end. Nobody waits for that, but one that does not end is told.
func (m *Machine) shut(now fence.Instant, s *seat, why error, p Farewell) {
	s.state, s.ending = closing, ending{why: why, parting: p, drainBy: now.Add(m.set.DrainTimeout)}
	m.do(Shut{Token: s.token, Why: &LostError{Scope: s.Scope, Epoch: s.token.Epoch, Why: why}})
}

// drain ends a term on request. Until then, or until the time is up, its heartbeats
// go on: what was begun may take longer to end than the last one allowed.
func (m *Machine) drain(s *seat, why error, p Farewell, by fence.Instant) {
	s.state, s.ending = closing, ending{why: why, parting: p, draining: true, drainBy: by}
	m.do(Shut{Token: s.token, Why: &LostError{Scope: s.Scope, Epoch: s.token.Epoch, Why: why}, By: by})
}

// abandon gives a scope up although its acts have not ended: without the promise.
func (m *Machine) abandon(s *seat) {
	s.abandoned, s.asked, s.draining = true, false, false
	if m.link.up {
		f := s.parting
		f.Released = false
		if f.How != EndedByLoss {
			f.Reason = "drain timed out"
		}
		s.farewell = &f
	}
	m.report(Fact{Kind: Abandoned, Scope: s.Scope, Token: s.token, Err: ErrDrainTimeout})
}
