package files

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/secretfile"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [[files]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Papers:  papers,
		OpenAPI: openAPI,
		Open: func(f node.Frame) node.Service {
			return &service{log: f.Log, cabinet: newCabinet(f)}
		},
	}
}

// check reports token and certificate files that cannot be read.
func check(c config.Config, fault func(key string, err error)) {
	for i, f := range config.Of[*Section](c).all {
		_, err := web.FirstToken(f.TokenFile)
		fault(fmt.Sprintf("files[%d].token_file", i), err)
		_, err = secretfile.Roots(f.CAFile)
		fault(fmt.Sprintf("files[%d].ca_file", i), err)
	}
}

// papers are those of the CAs by which the other nodes are known.
func papers(c config.Config, now time.Time) (all []certificate.Paper) {
	for i, f := range config.Of[*Section](c).all {
		all = certificate.Authority(all, "files:"+f.Scope+".ca", fmt.Sprintf("files[%d].ca_file", i), f.CAFile, now)
	}
	return all
}

type service struct {
	node.Plain
	log     *slog.Logger
	cabinet *cabinet
}

// Prepare implements node.Service.
func (s *service) Prepare(_ context.Context, c config.Config) (apply func(), err error) {
	return s.cabinet.keep(config.Of[*Section](c).all)
}

// Work implements node.Service.
func (s *service) Work(r config.Role, _ func(error)) (node.Work, func(context.Context)) {
	f, _ := r.Does.(Files)
	return s.pushing(f), nil
}

// pushing returns the work of a role of files: it takes writes and pushes them to the followers while
// this node leads (S19, S22).
func (s *service) pushing(f Files) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		m, err := s.cabinet.begin(f)
		if err != nil {
			s.log.Error("cannot lead files", slog.String("scope", f.Scope), slog.Any("error", err))
			return err
		}
		s.log.Info("leading files", slog.String("scope", f.Scope), slog.Int64("epoch", l.Token.Epoch))
		if err := m.Lead(ctx, l.Gate, l.Token); ctx.Err() == nil {
			return err
		}
		return nil // the elector ended the term and knows why
	}
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return (&api{files: s.cabinet, log: s.log}).routes() }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{s.cabinet.shelves}}
}

// Close implements node.Service.
func (s *service) Close() { s.cabinet.close() }
