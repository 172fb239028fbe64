//go:build unix

package demo

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg"
)

// open runs a node beside the others, which never leads and is never killed, and serves the dashboard at the address that the user has
// chosen. It reads the same conch.toml, so that its page has what they have. If it cannot be served the demo goes on without. It returns a
// function that ends the node.
func (s *servers) open(ctx context.Context, cfg Config, say func(string, ...any)) (shut func(), err error) {
	nothing := func() {}
	at, err := stage.Seat(ctx, cfg.Listen, say)
	if err != nil || at == "" {
		return nothing, err
	}
	path := filepath.Join(s.dir, "page.toml")
	if s.payer != nil {
		path = s.payer.config
	} else if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nothing, err
	}
	env := map[string]string{pg.EnvURL: s.url, "CONCH_LEADER_ENABLED": "false"}
	src := config.Source{Path: path, ID: "demo", Listen: at, Sections: node.Sections(cfg.Kinds), Getenv: func(name string) string { return env[name] }}
	load := func() (config.Config, error) { return config.Load(src) }
	c, err := load()
	if err != nil {
		return nothing, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended, fault := make(chan struct{}), error(nil)
	go func() {
		defer close(ended)
		fault = node.Run(ctx, node.Options{Config: c, Load: load, Version: cfg.Version, Log: slog.New(slog.DiscardHandler), Kinds: cfg.Kinds})
	}()
	shut = func() { cancel(); <-ended }
	if !answers(ctx, at, ended) {
		shut()
		say("nothing is served at %s: %v", at, cmp.Or(fault, errSilent))
		return nothing, nil
	}
	say("look at http://%s/ while it runs: the dashboard", at)
	return shut, nil
}

var errSilent = errors.New("the node does not answer")

// answers waits until a node answers, and reports whether it does.
func answers(ctx context.Context, at string, ended <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, warmup)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	api := nodeapi.Listening(at, 0, time.Second)
	defer api.Close()
	for ctx.Err() == nil {
		if api.Ask(ctx, http.MethodGet, "/v1/session", nil, &struct{}{}) == nil {
			return true
		}
		_ = pause.For(ctx, step)
	}
	return false
}
