package web

import (
	"context"
	"net/http"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// processView is a session of a process that campaigns.
type processView struct {
	ID         string    `json:"id"`
	Alive      bool      `json:"alive"`
	Tombstoned bool      `json:"tombstoned"`
	Here       bool      `json:"here"` // it is of this process
	Version    string    `json:"version"`
	Address    string    `json:"address"`
	Settings   string    `json:"settings"`
	Started    time.Time `json:"started"`
	LastSeen   time.Time `json:"last_seen"`
	SeenAgeMS  int64     `json:"seen_age_ms"`
	Scopes     int64     `json:"scopes"`
	Leads      int64     `json:"leads"`
	LeaseMS    int64     `json:"lease_ms"`
	Takeover   string    `json:"takeover"`
	Locks      string    `json:"locks"`
	LinesLost  int64     `json:"lines_lost"` // of its log, at least
}

// getProcesses lists the candidates. It is not answered from memory: one that is gone must not look alive.
func (s *Site) getProcesses(w http.ResponseWriter, r *http.Request) error {
	at := time.Now()
	var read []pgops.Process
	err := s.reader.ask(r.Context(), func(ctx context.Context, o Observer) (err error) {
		read, err = o.Processes(ctx)
		return err
	})
	if err != nil {
		return err
	}
	list := struct {
		asOf
		Processes []processView `json:"processes"`
	}{asOf{AsOf: at.UTC()}, []processView{}}
	for _, p := range read {
		list.Processes = append(list.Processes, processView{
			ID: p.ID, Alive: p.Alive, Tombstoned: p.Tombstoned, Here: p.ID == s.cfg.ID, Version: p.Version, Address: p.Address, Settings: p.Settings,
			Started: p.Started.UTC(), LastSeen: p.LastSeen.UTC(), SeenAgeMS: p.SeenAgeMS, Scopes: p.Scopes, Leads: p.Leads, LeaseMS: p.LeaseMS,
			Takeover: p.Takeover, Locks: p.Locks, LinesLost: p.LinesLost,
		})
	}
	return Answer(w, http.StatusOK, list)
}
