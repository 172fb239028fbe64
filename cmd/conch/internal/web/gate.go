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

// open is the answer to a caller that may act until ExpiresInMS after it sent the request.
// ExpiresInMS is missing if nothing is promised.
//
// The promise is safe because the caller counts from its sending, and the gate counts the same
// time from its later check: the caller stops first, by as long as the request was on its way
// or in a queue. The way back adds nothing: the time is rounded down to milliseconds, and no
// cache may keep the answer. A caller that counted from the reply could act after successors
// have stopped waiting, by as long as the reply took. The caller's clock must go on while its
// machine is suspended, and may be slower than this one by a tenth, which the gate adds.
type open struct {
	Leader      bool   `json:"leader"`
	Epoch       int64  `json:"epoch"`
	Term        string `json:"term"`
	ExpiresInMS int64  `json:"expires_in_ms,omitempty"`
}

// shut is the answer to all other callers. It is no failure, so it is no problem document.
type shut struct {
	Leader bool   `json:"leader"`
	Holder string `json:"holder"` // the leader, as last heard; empty if unknown
	Reason string `json:"reason"` // not_leader, holding, late
}

// question is what a caller wants to know of a gate.
type question struct {
	door    fence.Door
	life    time.Duration // the answer's validity at most
	routing bool          // the answer promises nothing, so no handover waits for it
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

// question reads a query. It refuses a parameter without effect, since the caller expects one.
func (s *Site) question(v url.Values) (q question, err error) {
	q.life = min(fence.AnswerLife, s.cfg.AnswerMax)
	switch name := v.Get("door"); name {
	case "", "act":
	case "fenced":
		q.door, q.life = fence.Fenced, math.MaxInt64 // until the gate's deadline
	default:
		return q, Failf(http.StatusBadRequest, "door = %q is neither act nor fenced", name).Wrong("door")
	}
	switch word := v.Get("promise"); word {
	case "", "yes":
	case "no":
		q.routing = true
	default:
		return q, Failf(http.StatusBadRequest, "promise = %q is neither yes nor no", word).Wrong("promise")
	}
	if !v.Has("for") {
		return q, nil
	}
	if q.routing || q.door == fence.Fenced {
		return q, Failf(http.StatusBadRequest, "for says how long an answer of the act door is to be promised, and neither promise=no nor door=fenced promises any: take it out").Wrong("for")
	}
	q.life, err = time.ParseDuration(v.Get("for"))
	switch {
	case err != nil || q.life < time.Millisecond:
		return q, Failf(http.StatusBadRequest, `for = %q is not a time such as "500ms" or "2s"`, v.Get("for")).Wrong("for")
	case q.life > s.cfg.AnswerMax:
		return q, Failf(http.StatusBadRequest, "for = %q is above answer_max of this node, which is %s: ask for less, or raise it", v.Get("for"), s.cfg.AnswerMax).Wrong("for")
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
		// Too short to act in.
		return open{}, &fence.ShutError{Scope: g.Scope(), Door: q.door, Holder: t.Holder, Why: fence.ErrLate}
	}
	return open{Leader: true, Epoch: t.Epoch, Term: t.Term.String(), ExpiresInMS: life.Milliseconds()}, nil
}

// look returns the token if a door is open. It promises nothing, so no handover waits for it.
func look(g *fence.Gate, d fence.Door) (fence.Token, error) {
	t, err := g.Require(fence.Fenced)
	if err == nil && !g.IsOpen(d) {
		err = &fence.ShutError{Scope: g.Scope(), Door: d, Holder: t.Holder, Why: fence.ErrHolding}
	}
	return t, err
}

// isLeader is for load balancers and probes, which want a status and have no token: 200
// while the act door is open here, 503 otherwise, also for an unknown scope.
func (s *Site) isLeader(w http.ResponseWriter, r *http.Request) error {
	status := http.StatusServiceUnavailable
	if g := s.cfg.Electors.Gate(r.PathValue("scope")); g != nil && g.IsOpen(fence.Act) {
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, http.StatusText(status)) // fails if the caller has gone
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
