package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/ui"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg"
)

// Check finds faults that would prevent a node's start, without starting anything: in its
// token and certificate files, listen addresses, services and database. Its error is a
// *config.FaultsError, or [ErrNoDatabase] if that is the only fault.
func Check(c config.Config, kinds []Kind) error {
	var faults []config.Fault
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, c.Fault(key, err.Error()))
		}
	}
	n := c.Node
	tokens, err := web.LoadTokens(n.ReadTokenFile, n.TokenFile)
	if _, reads := web.LoadTokens(n.ReadTokenFile, ""); reads != nil {
		fault("node.read_token_file", err)
	} else {
		fault("node.token_file", err)
	}
	if n.TLSCert != "" {
		_, err := web.LoadCertificate(n.TLSCert, n.TLSKey, slog.New(slog.DiscardHandler))
		fault("node.tls_cert", err)
	}
	if n.Listen != config.Off {
		named := tokens.Any() || err != nil && n.TokenFile+n.ReadTokenFile != "" // one fault is enough
		fault("node.listen", web.CheckListen(n.Listen, n.TLSCert != "", named))
	}
	if n.OpsListen != "" {
		fault("node.ops_listen", web.CheckAddress("ops_listen", n.OpsListen))
	}
	if n.PublicURL != "" {
		_, err := web.PublicURL(n.PublicURL)
		fault("node.public_url", err)
	}
	for _, k := range kinds {
		if k.Check != nil {
			k.Check(c, fault)
		}
	}
	if !c.Named && c.UsesDatabase() {
		if len(faults) == 0 {
			return ErrNoDatabase
		}
		fault("database.url", ErrNoDatabase)
	}
	return c.Faults(faults)
}

// site opens the listeners. What connects to them waits until serve is called, and is served until stop is. A listener that
// cannot go on sends its error to failed.
func (n *Node) site(ctx context.Context) (serve func() (failed <-chan error), stop func(), err error) {
	if n.tokens, err = web.LoadTokens(n.cfg.Node.ReadTokenFile, n.cfg.Node.TokenFile); err != nil {
		return nil, nil, err
	}
	if n.cfg.Node.TLSCert != "" {
		if n.cert, err = web.LoadCertificate(n.cfg.Node.TLSCert, n.cfg.Node.TLSKey, n.log); err != nil {
			return nil, nil, err
		}
	}
	pages, err := ui.Pages()
	if err != nil {
		return nil, nil, err
	}
	page := metric.Page(n.collectors(n.services)...)
	site, err := web.New(web.Config{
		Locked: n.locked, ID: n.id, Version: n.opts.Version, AnswerMax: n.cfg.AnswerMax(), Electors: n.roles, Status: n.roles.Status, Observe: n.observe,
		Ask: n.asker(), Metrics: page, Health: n.services.health, Routes: append(n.routes(), gather(n.services, Service.Routes)...), Board: n.board,
		Pages: pages, OpenAPI: documents(n.opts.Kinds), Tokens: n.tokens, Logger: n.log,
		PublicURL: n.cfg.Node.PublicURL, Cluster: n.cfg.Node.Cluster, Parts: n.parts,
	})
	if err != nil {
		return nil, nil, err
	}
	n.serving.Store(site)
	api, ops, err := n.listen(ctx)
	if err != nil {
		site.Close()
		return nil, nil, err
	}
	inner, cancel := context.WithCancel(n.over)
	faults := make(chan error, 2)
	var serving sync.WaitGroup
	serve = func() <-chan error {
		for ln, handler := range map[net.Listener]http.Handler{api: site.API(), ops: site.Ops()} {
			if ln == nil {
				continue
			}
			serving.Go(func() {
				if err := site.Serve(inner, ln, handler); err != nil {
					faults <- fmt.Errorf("serving on %s: %w", ln.Addr(), err)
				}
			})
		}
		return faults
	}
	return serve, func() { cancel(); serving.Wait(); site.Close() }, nil
}

// collectors are those of /metrics, which alerts measure too.
func (n *Node) collectors(of *services) []prometheus.Collector {
	n.measures.Do(func() {
		var base *metric.Base // nil without a database: there are no other candidates
		if n.cfg.UsesDatabase() {
			base = metric.NewBase(func(ctx context.Context) (map[string]int, bool) {
				if site := n.serving.Load(); site != nil {
					return site.Candidates(ctx)
				}
				return nil, false
			})
		}
		n.measured = append(gather(of, Service.Collectors), metric.Build(n.opts.Version), metric.LostLines(n.opts.LostLines), n.expiry, n.meters, base)
	})
	return n.measured
}

// locked names what locks tables of the node's database, for an error of a wait for them.
func (n *Node) locked(ctx context.Context, err error) error {
	if !n.cfg.UsesDatabase() {
		return err
	}
	return pg.Locked(ctx, n.cfg.Database.Connection(" api"), err)
}

// documents returns the services' parts of the API's document.
func documents(kinds []Kind) (parts []string) {
	parts = append(parts, OpenAPI)
	for _, k := range kinds {
		parts = append(parts, k.OpenAPI)
	}
	return parts
}

// listen opens the configured listeners. It is called before the node campaigns, so that an
// address in use costs no leadership.
func (n *Node) listen(ctx context.Context) (api, ops net.Listener, err error) {
	if n.cfg.Node.Listen != config.Off {
		if api, err = web.Listen(ctx, n.cfg.Node.Listen, n.cert); err != nil {
			return nil, nil, listenError(ofAPI, n.cfg.Node.Listen, err)
		}
		n.shown.Lock()
		n.shown.address = api.Addr().String()
		n.shown.Unlock()
		n.log.Info("serving the API", slog.String("address", api.Addr().String()), slog.Bool("tls", n.cert != nil), slog.Bool("tokens", n.tokens.Any()))
	}
	if n.cfg.Node.OpsListen != "" {
		if ops, err = web.Listen(ctx, n.cfg.Node.OpsListen, nil); err != nil {
			if api != nil {
				_ = api.Close()
			}
			return nil, nil, listenError(ofOps, n.cfg.Node.OpsListen, err)
		}
		n.log.Info("serving health and metrics", slog.String("address", ops.Addr().String()))
	}
	return api, ops, nil
}

// observe connects an observer for the API.
func (n *Node) observe(ctx context.Context) (web.Observer, error) {
	if !n.cfg.UsesDatabase() {
		return noHistory{}, nil
	}
	o, err := pgops.Observe(ctx, n.cfg.Database)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// asker returns how the API asks the leader, on whatever node; nil without a database.
func (n *Node) asker() func(context.Context, pgops.Request) error {
	if !n.cfg.UsesDatabase() {
		return nil
	}
	return func(ctx context.Context, r pgops.Request) error {
		_, err := pgops.Ask(ctx, n.cfg.Database, r, func(step string) {
			n.log.Info("drain: "+step, slog.String("scope", r.Scope), slog.String("actor", r.Actor))
		})
		return err
	}
}

// noHistory is the observer of a node without a database: empty, which is no error.
type noHistory struct{}

func (noHistory) Scopes(context.Context, string) ([]pgops.ScopeStatus, error) { return nil, nil }
func (noHistory) History(context.Context, string, int) ([]pgops.Event, error) { return nil, nil }
func (noHistory) Window(context.Context, pgops.Window) ([]pgops.Event, error) { return nil, nil }
func (noHistory) Processes(context.Context) ([]pgops.Process, error)          { return nil, nil }
func (noHistory) Beats(context.Context) ([]pgops.Beat, error)                 { return nil, nil }
func (noHistory) Watch(ctx context.Context, _ string, _ func(pgops.Event) error) error {
	<-ctx.Done()
	return nil
}
func (noHistory) Close() {}
