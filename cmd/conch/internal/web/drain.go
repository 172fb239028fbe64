package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

// maxDrain is the longest timeout that a drain may have.
const maxDrain = 10 * time.Minute

// order is the body of a drain. All of it is optional.
type order struct {
	TimeoutMS int64  `json:"timeout_ms"`
	To        string `json:"to"`
	IfEpoch   int64  `json:"if_epoch"` // the term that is to end; 0: the present one
}

// namedOrder is the body of a drain whose scope is not in the path: proxies decode what stands there.
type namedOrder struct {
	Scope string `json:"scope"`
	order
}

func (s *Site) postNamedDrain(w http.ResponseWriter, r *http.Request) error {
	var o namedOrder
	if err := ReadJSON(r, &o); err != nil {
		return err
	}
	return s.drain(w, r, o.Scope, o.order)
}

type drained struct {
	Scope string `json:"scope"`
	Actor string `json:"actor"`
	To    string `json:"to,omitempty"`
}

// postDrain has a scope given up, and answers once another process may take over. If this
// process leads and the caller names no successor, it steps down at once, which works without
// the database. Otherwise it asks the leader through the database, as the command line does.
func (s *Site) postDrain(w http.ResponseWriter, r *http.Request) error {
	var o order
	if err := ReadJSON(r, &o); err != nil {
		return err
	}
	return s.drain(w, r, r.PathValue("scope"), o)
}

func (s *Site) drain(w http.ResponseWriter, r *http.Request, scope string, o order) error {
	if err := election.ValidScope(scope); err != nil {
		return Failf(http.StatusBadRequest, "%v", err).Wrong("scope")
	}
	gate := s.cfg.Electors.Gate(scope)
	if gate == nil && s.cfg.Ask == nil {
		return unknownScope(scope)
	}
	if o.IfEpoch < 0 {
		return Failf(http.StatusBadRequest, "if_epoch = %d is no epoch: 0 means the present one", o.IfEpoch).Wrong("if_epoch")
	}
	if o.TimeoutMS < 0 || o.TimeoutMS > maxDrain.Milliseconds() {
		return Failf(http.StatusBadRequest, "timeout_ms = %d is not between 0, which means the configured time, and %d", o.TimeoutMS, maxDrain.Milliseconds()).Wrong("timeout_ms")
	}
	if o.To != "" {
		if err := election.ValidID(o.To); err != nil {
			return Failf(http.StatusBadRequest, "to: %v", err).Wrong("to")
		}
	}
	if gate != nil && doors(gate).Role == "standalone" {
		return Failf(http.StatusConflict, "this node is standalone: there is nobody to hand %q over to", scope).Named("standalone", "Standalone")
	}
	who := Actor(r.Context())
	s.cfg.Logger.InfoContext(r.Context(), "drain asked for over HTTP",
		slog.String("scope", scope), slog.String("actor", who), slog.String("to", o.To))

	// A drain may take longer than the deadline for other answers.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetWriteDeadline(time.Time{}) // fails in a test, on a recorder
	err := s.handOver(r.Context(), scope, who, o)
	_ = deadlines.SetWriteDeadline(time.Now().Add(WriteTimeout))
	if err != nil {
		return s.notDrained(r.Context(), scope, err)
	}
	return Answer(w, http.StatusOK, drained{Scope: scope, Actor: who, To: o.To})
}

func (s *Site) handOver(ctx context.Context, scope, who string, o order) error {
	timeout := time.Duration(o.TimeoutMS) * time.Millisecond
	if s.cfg.Electors.Gate(scope) != nil && (o.To == "" || s.cfg.Ask == nil) {
		err := s.cfg.Electors.StepDown(ctx, election.StepDown{
			Scope: scope, Epoch: o.IfEpoch, Why: fmt.Errorf("%w: asked by %s over HTTP", election.ErrStepDown, who),
			Actor: who, To: o.To, Timeout: timeout,
		})
		elsewhere := errors.Is(err, election.ErrNotLeading) || errors.Is(err, election.ErrUnknownScope)
		if !elsewhere || s.cfg.Ask == nil {
			return err
		}
	}
	return s.cfg.Ask(ctx, pgops.Request{Scope: scope, Epoch: o.IfEpoch, To: o.To, Actor: who, Timeout: timeout})
}

// notDrained turns the error of a drain into a problem.
func (s *Site) notDrained(ctx context.Context, scope string, err error) error {
	if p := answered(scope, err); p != nil {
		return p
	}
	switch {
	case errors.Is(err, pgops.ErrNobodyLeads):
		return s.nobodyLeads(ctx, scope)
	case errors.Is(err, election.ErrUnknownScope):
		return unknownScope(scope)
	case ctx.Err() != nil:
		return Failf(http.StatusInternalServerError, "the drain of %q goes on, and its outcome is not known", scope)
	}
	return err // the database could not be asked
}

// answered returns the problem if the error comes from a leader or a candidate; nil otherwise.
func answered(scope string, err error) *Problem {
	if e, ok := errors.AsType[*pgops.CandidateError](err); ok {
		p := Failf(http.StatusUnprocessableEntity, "%v", e).Named("not-a-candidate", "Not a candidate")
		p.Holder = e.Holder
		return p
	}
	if e, ok := errors.AsType[*pgops.EpochError](err); ok {
		p := Failf(http.StatusConflict, "%q is led with epoch %d by now, and if_epoch is %d: nothing was given up, look again", scope, e.Epoch, e.Asked).Named("other-epoch", "Another term")
		p.Holder = e.Holder
		return p
	}
	if errors.Is(err, election.ErrDrainTimeout) {
		return Failf(http.StatusGatewayTimeout, "%q was given up, but acts had not ended in time: the successor waits as after a crash", scope).Named("drain-timeout", "Acts had not ended")
	}
	if e, ok := errors.AsType[*pgops.FailedError](err); ok {
		p := Failf(http.StatusConflict, "%v: nothing was given up, ask again", e).Named("not-leading", "Not leading")
		p.Holder = e.Holder
		return p
	}
	if e, ok := errors.AsType[*pgops.UnansweredError](err); ok {
		p := Failf(http.StatusGatewayTimeout, "%v", e).Named("unanswered", "The leader did not answer")
		p.Holder = e.Holder
		return p
	}
	return nil
}

// nobodyLeads distinguishes a scope that nobody leads now from an unknown one.
func (s *Site) nobodyLeads(ctx context.Context, scope string) error {
	if s.cfg.Electors.Gate(scope) == nil {
		read, err := s.reader.leaderships(ctx, scope)
		if err != nil {
			return err
		}
		if len(read.leaderships) == 0 {
			return unknownScope(scope)
		}
	}
	return Failf(http.StatusConflict, "nobody leads %q now: there is nothing to give up", scope).Named("nobody-leads", "Nobody leads")
}
