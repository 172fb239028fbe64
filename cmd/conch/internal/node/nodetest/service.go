package nodetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
)

// Bells is a complete service for tests: each of [[bells]] is a scope whose leader rings. It
// has a route, a metric and a finding.
func Bells() node.Kind {
	return node.Kind{
		Section: func() config.Section { return Given() },
		Examine: func(_ context.Context, c config.Config) []doctor.Finding {
			return doctor.About("bells", doctor.Well(fmt.Sprint(len(c.Scopes()), " to be rung")))
		},
		OpenAPI: "# in paths\n  /v1/bells:\n    get: {responses: {\"200\": {description: Rung., content: {application/json: {schema: {type: integer}}}}}}\n",
		Open: func(f node.Frame) node.Service {
			return &service{frame: f, rung: prometheus.NewCounter(prometheus.CounterOpts{Name: "conch_bells_rung_total", Help: "Rung by this process."})}
		},
	}
}

// Given returns a section with [[bells]] as if they had been read.
func Given(roles ...config.Role) config.Section { return configtest.Plain("bells", roles...) }

type service struct {
	node.Plain
	frame node.Frame
	rung  prometheus.Counter
}

func (s *service) Work(config.Role, func(error)) (node.Work, func(context.Context)) {
	return func(ctx context.Context, l election.Leadership) error {
		s.frame.Log.Info("ringing", slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))
		s.rung.Inc()
		<-ctx.Done()
		return nil
	}, nil
}

func (s *service) Collectors() []prometheus.Collector { return []prometheus.Collector{s.rung} }

func (s *service) Routes() []web.Route {
	return []web.Route{{Method: http.MethodGet, Path: "/v1/bells", Serve: func(w http.ResponseWriter, _ *http.Request) error {
		return web.Answer(w, http.StatusOK, time.Now().Second())
	}}}
}
