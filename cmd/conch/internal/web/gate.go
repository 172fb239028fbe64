package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/conchhq/conch/fence"
)

// open is what a caller gets that may act: until ExpiresInMS after it sent the
// request.
//
// It counts from the caller's own sending, and that makes it safe. The time left is
// read from the gate while the request is handled, which is after the sending; the
// same number of milliseconds from an earlier instant ends earlier than the gate's
// deadline, by as long as the request was on its way or waited in a queue. Nothing
// may lengthen it on the way back: it is cut to whole milliseconds downwards, and
// no cache may keep it. A caller that counted from the reply could act after the
// deadline by the time the reply took. It has to count on a clock that goes on
// while its machine is suspended, and may be off in speed by what the gate's margin
// allows for, a tenth of a lease.
type open struct {
	Leader      bool   `json:"leader"`
	Epoch       int64  `json:"epoch"`
	Term        string `json:"term"`
	ExpiresInMS int64  `json:"expires_in_ms"`
}

// shut is what all others get. It is an answer and no failure, so it is no problem
// document.
type shut struct {
	Leader bool   `json:"leader"`
	Holder string `json:"holder"` // who leads, as last heard; empty if unknown
	Reason string `json:"reason"` // not_leader, holding, late
}

func (s *Site) getGate(w http.ResponseWriter, r *http.Request) error {
	scope := r.PathValue("scope")
	g := s.cfg.Electors.Gate(scope)
	if g == nil {
		return unknownScope(scope)
	}
	door := fence.Act
	switch name := r.URL.Query().Get("door"); name {
	case "", "act":
	case "fenced":
		door = fence.Fenced
	default:
		return failf(http.StatusBadRequest, "door = %q is neither act nor fenced", name)
	}
	token, left, err := look(g, door)
	if err != nil {
		return answer(w, http.StatusServiceUnavailable, shut{Holder: holderOf(err), Reason: reasonOf(err)})
	}
	return answer(w, http.StatusOK, open{Leader: true, Epoch: token.Epoch, Term: token.Term.String(), ExpiresInMS: left.Milliseconds()})
}

// look reads the token and the time left of one and the same term: the gate may
// be given to the next one between the two.
func look(g *fence.Gate, d fence.Door) (fence.Token, time.Duration, error) {
	for {
		before, err := g.Require(d)
		if err != nil {
			return fence.Token{}, 0, err
		}
		left := g.Left(d).Truncate(time.Millisecond)
		after, err := g.Require(d)
		switch {
		case err != nil:
			return fence.Token{}, 0, err
		case !before.Same(after):
			continue
		case left <= 0:
			// Less than a millisecond is no time to do anything in.
			return fence.Token{}, 0, &fence.ShutError{Scope: g.Scope(), Door: d, Holder: before.Holder, Why: fence.ErrLate}
		}
		return before, left, nil
	}
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, fence.ErrHolding):
		return "holding"
	case errors.Is(err, fence.ErrLate):
		return "late"
	default:
		return "not_leader"
	}
}
