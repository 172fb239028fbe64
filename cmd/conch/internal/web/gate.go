package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/fence"
)

// open is what a caller gets that may act: until ExpiresInMS after it sent the
// request. It is missing where nothing is promised.
//
// It counts from the caller's own sending, and that makes it safe. How long the answer
// lives is counted from when the gate looks, which is after the sending; the same number
// of milliseconds from an earlier instant ends earlier, by as long as the request was on
// its way or waited in a queue. Nothing may lengthen it on the way back: it is cut to
// whole milliseconds downwards, and no cache may keep it. A caller that counted from the
// reply could act by the time the reply took after everybody has stopped waiting for it.
// It has to count on a clock that goes on while its machine is suspended, and that may be
// slower than this one by a tenth: that much longer the gate waits for it.
type open struct {
	Leader      bool   `json:"leader"`
	Epoch       int64  `json:"epoch"`
	Term        string `json:"term"`
	ExpiresInMS int64  `json:"expires_in_ms,omitempty"`
}

// shut is what all others get. It is an answer and no failure, so it is no problem
// document.
type shut struct {
	Leader bool   `json:"leader"`
	Holder string `json:"holder"` // who leads, as last heard; empty if unknown
	Reason string `json:"reason"` // not_leader, holding, late
}

// question is what a caller wants to know of a gate.
type question struct {
	door    fence.Door
	life    time.Duration // of the answer, at most
	routing bool          // nothing is promised, and nobody waits for what comes of it
}

func (s *Site) getGate(w http.ResponseWriter, r *http.Request) error {
	scope := r.PathValue("scope")
	g := s.cfg.Electors.Gate(scope)
	if g == nil {
		return unknownScope(scope)
	}
	q, err := s.question(r.URL.Query())
	if err != nil {
		return err
	}
	is, err := q.ask(g)
	if err != nil {
		return Answer(w, http.StatusServiceUnavailable, shut{Holder: holderOf(err), Reason: reasonOf(err)})
	}
	return Answer(w, http.StatusOK, is)
}

// question reads one. A word that would change nothing is refused: a caller that says it means
// something by it.
func (s *Site) question(v url.Values) (q question, err error) {
	q.life = min(fence.AnswerLife, s.cfg.AnswerMax)
	switch name := v.Get("door"); name {
	case "", "act":
	case "fenced":
		q.door, q.life = fence.Fenced, math.MaxInt64 // what is left
	default:
		return q, Failf(http.StatusBadRequest, "door = %q is neither act nor fenced", name)
	}
	switch word := v.Get("promise"); word {
	case "", "yes":
	case "no":
		q.routing = true
	default:
		return q, Failf(http.StatusBadRequest, "promise = %q is neither yes nor no", word)
	}
	if !v.Has("for") {
		return q, nil
	}
	if q.routing || q.door == fence.Fenced {
		return q, Failf(http.StatusBadRequest, "for says how long an answer of the act door is to be promised, and neither promise=no nor door=fenced promises any: take it out")
	}
	q.life, err = time.ParseDuration(v.Get("for"))
	switch {
	case err != nil || q.life < time.Millisecond:
		return q, Failf(http.StatusBadRequest, `for = %q is not a time such as "500ms" or "2s"`, v.Get("for"))
	case q.life > s.cfg.AnswerMax:
		return q, Failf(http.StatusBadRequest, "for = %q is above answer_max of this node, which is %s: ask for less, or raise it", v.Get("for"), s.cfg.AnswerMax)
	}
	return q, nil
}

func (q question) ask(g *fence.Gate) (open, error) {
	if q.routing {
		t, err := look(g, q.door)
		return open{Leader: true, Epoch: t.Epoch, Term: t.Term.String()}, err
	}
	t, life, err := g.Answer(q.door, q.life)
	if err != nil {
		return open{}, err
	}
	if life < time.Millisecond {
		// That is no time to do anything in.
		return open{}, &fence.ShutError{Scope: g.Scope(), Door: q.door, Holder: t.Holder, Why: fence.ErrLate}
	}
	return open{Leader: true, Epoch: t.Epoch, Term: t.Term.String(), ExpiresInMS: life.Milliseconds()}, nil
}

// look says whether a door is open without promising anything, so that no handover waits
// for it.
func look(g *fence.Gate, d fence.Door) (fence.Token, error) {
	t, err := g.Require(fence.Fenced)
	if err == nil && !g.IsOpen(d) {
		err = &fence.ShutError{Scope: g.Scope(), Door: d, Holder: t.Holder, Why: fence.ErrHolding}
	}
	return t, err
}

// isLeader is for load balancers and probes, which want a status and have no token: 200
// while the act door is open here, 503 otherwise. It tells an unknown scope from none that
// is led here to nobody.
func (s *Site) isLeader(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusServiceUnavailable
	if g := s.cfg.Electors.Gate(r.PathValue("scope")); g != nil && g.IsOpen(fence.Act) {
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, http.StatusText(status)) // the caller has gone: there is nobody left to tell
	return nil
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
