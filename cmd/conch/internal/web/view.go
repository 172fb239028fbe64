package web

import (
	"errors"
	"time"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// here is this process's part in a scope, and what it knows of a scope that nobody leads.
type here struct {
	Role   string `json:"role"`  // leader, follower, standalone (S18)
	Epoch  int64  `json:"epoch"` // 0 unless it leads
	Fenced bool   `json:"fenced"`
	Act    bool   `json:"act"`
	Holder string `json:"holder,omitempty"` // the leader, as last heard
	// LeaderlessMS is for how long nobody has led, once that is three leases. Why is the
	// obstacle that this process's bids met.
	LeaderlessMS int64  `json:"leaderless_ms,omitempty"`
	Why          string `json:"why,omitempty"`
	Unsaid       bool   `json:"unsaid,omitempty"` // it gave the scope up, and could not tell the database yet
}

func (s *Site) lookAt(scope string, g *fence.Gate) here {
	h := doors(g)
	if is, ok := s.cfg.Status(scope); ok && h.Role == "follower" {
		h.Unsaid = is.Unsaid
		if is.Unled != 0 {
			h.LeaderlessMS, h.Why = max(1, s.cfg.Clock().Sub(is.Unled).Milliseconds()), is.Why
		}
	}
	return h
}

// doors looks at a gate without asking for a promise, which would delay a handover.
func doors(g *fence.Gate) here {
	token, err := g.Require(fence.Fenced)
	if err != nil {
		return here{Role: "follower", Holder: holderOf(err)}
	}
	h := here{Role: "leader", Epoch: token.Epoch, Fenced: true, Act: g.IsOpen(fence.Act), Holder: token.Holder}
	if token.Epoch == 0 {
		h.Role = "standalone"
	}
	return h
}

func holderOf(err error) string {
	if shut, ok := errors.AsType[*fence.ShutError](err); ok {
		return shut.Holder
	}
	return ""
}

// scopeView is a scope as the database has it, and this process's part in it.
type scopeView struct {
	Scope          string     `json:"scope"`
	Epoch          int64      `json:"epoch"` // 0: never led
	Holder         string     `json:"holder"`
	Term           string     `json:"term,omitempty"`
	AcquiredAt     *time.Time `json:"acquired_at"`
	HeartbeatAt    *time.Time `json:"heartbeat_at"`
	HeartbeatAgeMS int64      `json:"heartbeat_age_ms"` // at as_of; while the database is away, now
	Released       bool       `json:"released"`
	Held           *bool      `json:"held"` // nil: not known, since the database is away
	Holding        bool       `json:"holding,omitempty"`
	Candidates     []string   `json:"candidates"`
	LeaseMS        int64      `json:"lease_ms"`
	Takeover       string     `json:"takeover,omitempty"`
	Obstacle       string     `json:"obstacle,omitempty"` // what keeps all candidates from leading, and a remedy
	Failures       int64      `json:"failures"`           // of its role, on any process, in the last ten minutes
	LastFailure    string     `json:"last_failure,omitempty"`
	LastFailureAt  *time.Time `json:"last_failure_at,omitempty"`
	Here           *here      `json:"here"` // null: this process has no role in it
}

// asOf says when the data of an answer was read.
type asOf struct {
	AsOf  time.Time `json:"as_of"`
	Stale bool      `json:"stale,omitempty"` // the database is away: this is its last answer
}

func (r reading) asOf() asOf { return asOf{AsOf: r.at.UTC(), Stale: r.stale} }

func (s *Site) view(scope string, l *pgops.ScopeStatus, from reading) scopeView {
	v := scopeView{Scope: scope, Candidates: []string{}, Held: new(false)}
	if l != nil {
		v = scopeView{
			Scope: l.Scope, Epoch: l.Epoch, Holder: l.Holder, Term: l.Term, AcquiredAt: utc(&l.AcquiredAt),
			HeartbeatAt: utc(l.HeartbeatAt), HeartbeatAgeMS: l.HeartbeatAgeMS, Released: l.Released, Held: &l.Held, Holding: l.Holding,
			Candidates: append([]string{}, l.Candidates...), LeaseMS: l.LeaseMS, Takeover: l.Takeover,
			Obstacle: l.Obstacle, Failures: l.Failures, LastFailure: l.LastFailure, LastFailureAt: utc(l.LastFailureAt),
		}
	}
	if from.stale { // what was is not what is
		v.Held, v.Holding = nil, false
		if v.HeartbeatAt != nil {
			v.HeartbeatAgeMS += time.Since(from.at).Milliseconds()
		}
	}
	if g := s.cfg.Electors.Gate(scope); g != nil {
		v.Here = new(s.lookAt(scope, g))
	}
	return v
}

func utc(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
