package minttest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Elector runs an elector for scope "s", and for more, until the test ends or stop is called.
func Elector(t testing.TB, url, id string, lease time.Duration, more ...election.Role) (e *election.Elector, stop func()) {
	t.Helper()
	e, err := election.New(election.Config{
		Mint: New(t, url), ID: id, Lease: lease, Roles: append(more, election.Role{Scope: "s"}),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.Run(ctx); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return e, stop
}

// Wait waits until a door of scope "s" is open.
func Wait(t testing.TB, e *election.Elector, d fence.Door) fence.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	token, err := e.Gate("s").Wait(ctx, d)
	if err != nil {
		t.Fatalf("%s: the %s door did not open: %v", e.ID(), d, err)
	}
	return token
}
