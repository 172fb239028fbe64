package web

import (
	"net/http"
	"slices"
	"time"
)

// recently is how long this process is ready after an answer of the database.
const recently = 5 * time.Second

type health struct {
	Status  string        `json:"status"`
	ID      string        `json:"id"`
	Version string        `json:"version"`
	Scopes  []healthScope `json:"scopes"`

	Services map[string]any `json:"services,omitempty"` // by name
}

type healthScope struct {
	Scope string `json:"scope"`
	here
}

// getHealth says that the process is alive, and its part in each scope (S32) and service. It does not ask
// the database: an outage is no reason to restart a process that waits for its end.
func (s *Site) getHealth(w http.ResponseWriter, _ *http.Request) error {
	h := health{Status: "ok", ID: s.cfg.ID, Version: s.cfg.Version, Scopes: []healthScope{}}
	scopes := slices.Clone(s.cfg.Electors.Scopes())
	slices.Sort(scopes)
	for _, scope := range scopes {
		if g := s.cfg.Electors.Gate(scope); g != nil {
			h.Scopes = append(h.Scopes, healthScope{scope, doors(g)})
		}
	}
	if s.cfg.Health != nil {
		h.Services = s.cfg.Health()
	}
	return Answer(w, http.StatusOK, h)
}

// getReady says that the process can serve: it is not ending, and the database answered
// recently. A follower is as ready as a leader, and the trouble of one service makes nothing else unready.
func (s *Site) getReady(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-s.ending:
		return isEnding()
	default:
	}
	// The caller may have no token, so the answer does not say why.
	if s.reader.reached(r.Context(), recently) != nil {
		return Failf(http.StatusServiceUnavailable, "the database cannot be asked").Named("database-unavailable", "The database cannot be asked")
	}
	return Answer(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ready"})
}
