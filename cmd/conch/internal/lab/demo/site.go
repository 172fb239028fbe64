//go:build unix

package demo

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/conchhq/conch/cmd/conch/internal/ui"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// spectator implements the electors of a site for a process that leads nothing.
type spectator struct{}

func (spectator) Scopes() []string        { return nil }
func (spectator) Gate(string) *fence.Gate { return nil }
func (spectator) StepDown(context.Context, election.StepDown) error {
	return election.ErrNotLeading
}

// open serves the HTTP API over the demo's database and returns a function that ends it. If
// the port is taken, the demo continues without the API.
func (s *servers) open(ctx context.Context, addr string, say func(string, ...any)) (shut func(), err error) {
	nothing := func() {}
	if addr == "" {
		return nothing, nil
	}
	if err := web.CheckListen(addr, false, false); err != nil {
		return nothing, err
	}
	pages, err := ui.Pages()
	if err != nil {
		return nothing, err
	}
	database := pgmint.Config{URL: s.url, AppName: "conch demo"}
	site, err := web.New(web.Config{
		Pages: pages,
		Ask: func(ctx context.Context, r pgops.Request) error {
			_, err := pgops.Ask(ctx, database, r, func(string) {})
			return err
		},
		ID: "demo", Electors: spectator{}, Metrics: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler),
		Observe: func(ctx context.Context) (web.Observer, error) {
			return pgops.Observe(ctx, database)
		},
	})
	if err != nil {
		return nothing, err
	}
	listener, err := web.Listen(ctx, addr, nil)
	if err != nil {
		say("nothing is served at %s: %v", addr, err)
		site.Close()
		return nothing, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = site.Serve(ctx, listener, site.API()) // it ends when we cancel it
	}()
	say("look at http://%s/ while it runs: the dashboard", listener.Addr())
	return func() { cancel(); <-ended; site.Close() }, nil
}
