//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pause"
)

// rests counts what a leader of many scopes and a follower ask the server while nothing happens. The
// ceiling is only a heartbeat of the leader every fifth of a lease. More scopes than a server's lock
// table is meant for are kept by process.
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

func rest(ctx context.Context, cfg Config, s *site, scopes int) (perSecond float64, by string, err error) {
	create := func() (string, func() error, error) { return pgraw.CreateDatabase(ctx, s.url) }
	err = inNewDatabase(create, func(url string) error {
		perSecond, by, err = restIn(ctx, cfg, url, scopes)
		return err
	})
	return perSecond, by, err
}

// inNewDatabase does something in a database that it drops afterwards. A failed drop is an error:
// the server may be the caller's, and nobody else knows of the database.
func inNewDatabase(create func() (url string, drop func() error, err error), do func(url string) error) (err error) {
	url, drop, err := create()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	return do(url)
}

// restIn runs two electors and counts what both ask per second once one of them leads all scopes.
func restIn(ctx context.Context, cfg Config, url string, scopes int) (perSecond float64, by string, err error) {
	if err := pgmint.Up(ctx, pgmint.Config{URL: url}, func(string) {}); err != nil {
		return 0, "", err
	}
	admin, err := pgraw.OpenAdmin(ctx, url)
	if err != nil {
		return 0, "", err
	}
	defer admin.Close()
	admin.TrackStatements(ctx)

	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for _, id := range []string{"one", "two"} {
		elector, mint, err := idle(cfg, url, id, scopes)
		if err != nil {
			return 0, "", err
		}
		group.Go(func() {
			defer mint.Close()
			ended <- elector.Run(running)
		})
	}
	two := resting{scopes: scopes, led: admin.Led, ended: ended}
	return two.count(ctx, 2*cfg.Lease, func() (float64, string, error) { return admin.PerSecond(ctx, cfg.amounts().rest) })
}

// resting is a set of electors of which one leads all scopes.
type resting struct {
	scopes int
	led    func(context.Context) (n int, epochs int64, err error)
	ended  <-chan error // gets the end of each
}

// count counts what the electors ask after the campaigns. If scopes are elected anew meanwhile, or
// an elector ends, they are not at rest and there is no figure.
func (r resting) count(ctx context.Context, settle time.Duration, perSecond func() (float64, string, error)) (n float64, by string, err error) {
	err = until(ctx, "all scopes are led", func() (bool, error) {
		led, _, err := r.led(ctx)
		return led == r.scopes, errors.Join(err, r.running())
	})
	if err != nil {
		return 0, "", err
	}
	if err := pause.For(ctx, settle); err != nil {
		return 0, "", err
	}
	_, before, err := r.led(ctx)
	if err != nil {
		return 0, "", err
	}
	if n, by, err = perSecond(); err != nil {
		return 0, "", err
	}
	led, after, err := r.led(ctx)
	if err == nil && (led != r.scopes || after != before) {
		err = fmt.Errorf("%d of %d scopes were led after the count, and %d were elected anew during it", led, r.scopes, after-before)
	}
	return n, by, errors.Join(err, r.running())
}

func (r resting) running() error {
	select {
	case err := <-r.ended:
		return fmt.Errorf("an elector ended unexpectedly: %w", errors.Join(err, errEarly))
	default:
		return nil
	}
}

// errEarly stands for the end of an elector without a reason.
var errEarly = errors.New("its statements are missing from the count")

func locks(scopes int) pgmint.Locks {
	if scopes > 1000 {
		return pgmint.ProcessLocks
	}
	return pgmint.SessionLocks
}

// idle returns an elector whose roles only keep their gates.
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
