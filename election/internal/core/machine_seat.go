package core

import (
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// phase is the state of a seat: waiting → leading → closing → waiting.
type phase uint8

const (
	waiting phase = iota // not leading
	leading              // a token is held
	closing              // the gate is shut, the role is ending
)

// seat is the state of one scope. A part that belongs to a phase is replaced as a whole when the
// phase begins, and a part that belongs to the session (session, found) when it is lost.
type seat struct {
	SeatSettings
	place      int           // index in Machine.seats
	next       *SeatSettings // settings of the next term, if they change
	state      phase
	owesAnswer bool // report how the drain ends: a caller may wait for it
	yielding   bool // others go first once the scope is given up
	retired    bool // no longer campaigned for
	listedNext bool // value of listed if the request under way succeeds
	news
	session
	turn
	bidding
	tenure
	ending
	untold
}

// news is what is known of other candidates; it outlives terms.
type news struct {
	holder       string
	endedProcess int64         // the last process key whose end was seen
	ledAt        fence.Instant // when somebody last led, or may have led unnoticed
	unledAt      fence.Instant // when Unled was last reported; 0: somebody has led since
	unledWhy     string        // the reported cause
}

// session is what the seat knows of the present session with the mint.
type session struct {
	listed bool // the mint's roll has the scope
	stuck  bool // Blocked was reported with its Blockers
}

// bidding is what the reports need to know of the bids for the next term.
type bidding struct {
	firstBid fence.Instant
	stale    bool // Stale was reported
}

// tenure is the current term, or the last one.
type tenure struct {
	token    fence.Token
	actFrom  fence.Instant
	holdEnds fence.Instant // by then every predecessor's gate is shut
	deadline fence.Instant
	entered  bool          // the act door has opened
	settling bool          // the heartbeat under way settles the term
	settled  bool          // the mint knows that the hold is over
	lateFrom fence.Instant // since when the gate is late; 0: it is not
	unsure   error         // why the last heartbeat neither renewed nor ended the term
}

// ending describes how a term ends while its role is still running.
type ending struct {
	why             error
	plannedFarewell mint.Farewell // the farewell to say once acts have ended
	draining        bool          // on request, and the term is not known to be over: heartbeats renew it
	drainBy         fence.Instant
	abandoned       bool // given up before all acts had ended
}

// untold is a farewell that the mint has not confirmed; it outlives the term.
type untold struct {
	farewell    *mint.Farewell
	saying      *mint.Farewell // the farewell of the request under way
	sayAt       fence.Instant  // no try before this
	sayFrom     fence.Instant  // when the first try failed
	sayFailures int            // failed tries
	sayBatch    int            // largest batch that this farewell may join after an error; 0: no limit
	unheard     bool           // a try ended in an error: the mint may have recorded it
	unsaid      bool           // Unsaid was reported
}

// isLate reports whether the gate is shut for now, since no heartbeat succeeded in time.
func (s *seat) isLate() bool { return s.lateFrom != 0 }

// actsAlone reports whether this term's act door has opened and every predecessor's gate is shut.
// Until then nothing is said that lets a successor act earlier. Fast opens the act door before
// that, but the next term may be Strict.
func (s *seat) actsAlone(now fence.Instant) bool { return s.entered && now >= s.holdEnds }

// openTerm begins a term.
func (m *Machine) openTerm(s *seat, now, sent fence.Instant, r mint.Result) {
	took := now.Sub(s.firstBid)
	s.state, s.bidding, s.ending, s.untold = leading, bidding{}, ending{}, untold{}
	// The mint stored the longer of hold and lease. Settling lowers that to the lease.
	s.tenure = tenure{token: r.Token, holdEnds: now.Add(r.Hold), deadline: sent.Add(s.openFor()), settled: r.Hold <= s.Lease}
	s.actFrom = s.holdEnds
	if m.set.Takeover == mint.Fast {
		s.actFrom = now
	}
	m.noteLed(s, now)
	m.addAction(Open{Token: s.token, ActFrom: s.actFrom, Deadline: s.deadline})
	m.addReport(Fact{Kind: Acquired, Scope: s.Scope, Token: s.token, Hold: r.Hold, Handoff: r.Handoff, Took: took})
}

// shutTerm ends a term that was lost: first the gate, then the role. The farewell waits for the acts
// to end. No caller does, but acts that do not end in time are reported.
func (m *Machine) shutTerm(now fence.Instant, s *seat, why error, p mint.Farewell) {
	s.state, s.ending = closing, ending{why: why, plannedFarewell: p, drainBy: now.Add(m.set.DrainTimeout)}
	m.addAction(Shut{Token: s.token, Why: why})
}

// beginDrain ends a term on request. Heartbeats go on until the acts have ended or the time is up,
// since acts may take longer than the last heartbeat allowed.
func (m *Machine) beginDrain(s *seat, why error, p mint.Farewell, by fence.Instant) {
	s.state, s.ending = closing, ending{why: why, plannedFarewell: p, draining: true, drainBy: by}
	m.addAction(Shut{Token: s.token, Why: why, By: by})
}

// abandonTerm gives a scope up before its acts have ended, and so without the promise.
func (m *Machine) abandonTerm(_ fence.Instant, s *seat) {
	s.abandoned, s.owesAnswer, s.draining = true, false, false
	if m.link.up {
		f := s.plannedFarewell
		f.Released = false
		if f.How != mint.EndedByLoss {
			f.Reason = "drain timed out"
		}
		s.farewell = &f
	}
	m.addReport(Fact{Kind: Abandoned, Scope: s.Scope, Token: s.token, Err: ErrDrainTimeout})
}
