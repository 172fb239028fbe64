//go:build unix

package bench

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/pgraw"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// rests: what a leader and a follower ask the server while nothing happens, for so
// many scopes in the one. The ceiling is a heartbeat of the leader's every fifth
// of a lease and nothing else. More scopes than the locks of a server are meant
// for are kept by process.
func rests(ctx context.Context, cfg Config, s *site, r *Report) error {
	for _, scopes := range cfg.amounts().scopes {
		cfg.Say("election: statements at rest, %d scopes, %s …", scopes, cfg.amounts().rest)
		name := fmt.Sprintf("rest_%d_scopes", scopes)
		if locks(scopes) == pgmint.ProcessLocks {
			name += "_by_process"
		}
		n, by, err := rest(ctx, cfg, s, scopes)
		if err != nil {
			return fmt.Errorf("%d scopes at rest: %w", scopes, err)
		}
		r.beside(name, n/2, 5/cfg.Lease.Seconds()/2, "statements/s/process by "+by)
	}
	return nil
}

// rest runs two electors over a database of their own and counts what both ask
// per second once one of them leads all scopes.
func rest(ctx context.Context, cfg Config, s *site, scopes int) (perSecond float64, by string, err error) {
	url, drop, err := pgraw.CreateDatabase(ctx, s.url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = drop() }() // it goes with its server, or says so at the next run
	if err := pgmint.Up(ctx, pgmint.Config{URL: url}, func(string) {}); err != nil {
		return 0, "", err
	}
	desk, err := pgraw.OpenDesk(ctx, url)
	if err != nil {
		return 0, "", err
	}
	defer desk.Close()
	desk.TrackStatements(ctx)

	running, cancel := context.WithCancel(ctx)
	var crew sync.WaitGroup
	defer crew.Wait()
	defer cancel()
	for _, id := range []string{"one", "two"} {
		elector, mint, err := idle(cfg, url, id, scopes)
		if err != nil {
			return 0, "", err
		}
		crew.Go(func() {
			defer mint.Close()
			_ = elector.Run(running) // ended by us; trouble shows as a wait that fails
		})
	}
	err = until(ctx, "all scopes are led", func() (bool, error) {
		n, err := desk.Led(ctx)
		return n == scopes, err
	})
	if err != nil {
		return 0, "", err
	}
	if err := pass(ctx, 2*cfg.Lease); err != nil { // until the campaigns are over
		return 0, "", err
	}
	return desk.PerSecond(ctx, cfg.amounts().rest)
}

func locks(scopes int) pgmint.Locks {
	if scopes > 1000 {
		return pgmint.ProcessLocks
	}
	return pgmint.SessionLocks
}

// idle is an elector whose roles do nothing but keep their gates.
func idle(cfg Config, url, id string, scopes int) (*election.Elector, *pgmint.Mint, error) {
	mint, err := pgmint.New(pgmint.Config{URL: url, Locks: locks(scopes)})
	if err != nil {
		return nil, nil, err
	}
	roles := make([]election.Role, scopes)
	for i := range roles {
		roles[i].Scope = fmt.Sprintf("scope-%05d", i)
	}
	elector, err := election.New(election.Config{
		Mint: mint, ID: id, Roles: roles, Lease: cfg.Lease, Logger: slog.New(slog.DiscardHandler),
	})
	return elector, mint, err
}
