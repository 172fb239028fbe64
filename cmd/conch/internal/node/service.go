package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// Kind is a service as the frames know it before there is a node: each is a folder of
// cmd/conch/internal/service, and one line in the list of main. Only Section and Open are
// required.
type Kind struct {
	// Section makes what the service has in the file, empty.
	Section func() config.Section
	// Check tells fault, by key, what a node could not start with. It starts nothing and
	// opens no connection.
	Check func(c config.Config, fault func(key string, err error))
	// Examine finds out for conch doctor what a node would meet. It changes nothing.
	Examine func(ctx context.Context, c config.Config) []doctor.Finding
	// Tables are those of the service in the database; nil if it has none.
	Tables *Tables
	// OpenAPI documents the routes of the service; see web.Document.
	OpenAPI string
	// Open makes the service of a node that begins.
	Open func(f Frame) Service
}

// Sections make the sections of the kinds, for config.Source.
func Sections(kinds []Kind) (all []func() config.Section) {
	for _, k := range kinds {
		all = append(all, k.Section)
	}
	return all
}

// Service is what one wing does in a running node. Work, the functions that it gives,
// and the routes and collectors are used concurrently; the rest by one goroutine.
type Service interface { //nolint:interfacebloat // what each frame takes; Plain has all of it
	// Admit prepares what a configuration has of the service, when the node begins and at
	// each reload. What is prepared counts once use is called, when nothing can fail any
	// more; without that call, and after an error, nothing has changed that counts.
	Admit(ctx context.Context, c config.Config) (use func(), err error)
	// Work is what a role of the service does while it leads; nil if only its gate is
	// kept. Beside goes on while the node may lead the role, between its terms too; nil if
	// there is no such thing. A role that has failed and cannot end calls resign, so that
	// another node can lead; resign is nil where there is no other.
	Work(r config.Role, resign func(why error)) (w Work, beside func(ctx context.Context))
	// Routes are the service's part of the API.
	Routes() []web.Route
	// Collectors are the service's part of the page of metrics.
	Collectors() []prometheus.Collector
	// Close ends what the service has begun. No role works any more.
	Close()
}

// Work is what a role does while it leads. It returns only when everything that it
// began has ended: its return is what a successor is promised.
type Work func(ctx context.Context, l election.Leadership) error

// ErrGone ends a term whose role a reload has taken out while it began.
var ErrGone = errors.New("it was taken out of the configuration")

// Frame is what a node has for its services.
type Frame struct {
	ID       string // under which the node campaigns
	Log      *slog.Logger
	Database *pgmint.Config     // nil: the node is standalone
	Over     context.Context    // ends with the node
	Gone     context.Context    // ends when no end of a role can be promised any more
	Hurry    context.Context    // ends when there is no time left to ask commands to end
	Go       func(f func())     // runs f in a goroutine that the node waits for, so f ends with Over
	Blocked  func(scope string) // counts what a shut gate refused (S17)
}

// Plain is a service that does nothing: embed it and write what differs.
type Plain struct{}

// Admit implements Service.
func (Plain) Admit(context.Context, config.Config) (func(), error) { return func() {}, nil }

// Work implements Service.
func (Plain) Work(config.Role, func(error)) (Work, func(context.Context)) { return nil, nil }

// Routes implements Service.
func (Plain) Routes() []web.Route { return nil }

// Collectors implements Service.
func (Plain) Collectors() []prometheus.Collector { return nil }

// Close implements Service.
func (Plain) Close() {}

// services are those of a node, in the order of their kinds.
type services struct {
	all     []Service
	byTable map[string]Service
}

func (n *Node) open() *services {
	s := &services{byTable: map[string]Service{}}
	frame := Frame{
		ID: n.id, Log: n.log, Over: n.over, Gone: n.gone, Hurry: n.hurry, Go: n.calls.Go, Blocked: n.meters.Blocked,
	}
	if !n.cfg.Node.Standalone {
		frame.Database = &n.cfg.Database
	}
	for _, k := range n.opts.Kinds {
		one := k.Open(frame)
		s.all = append(s.all, one)
		s.byTable[k.Section().Table()] = one
	}
	return s
}

// admit has every service prepare, and then, if none has failed, use what it prepared.
func (s *services) admit(ctx context.Context, c config.Config) (use func(), err error) {
	var prepared []func()
	for _, one := range s.all {
		use, err := one.Admit(ctx, c)
		if err != nil {
			return nil, err
		}
		prepared = append(prepared, use)
	}
	return func() {
		for _, use := range prepared {
			use()
		}
	}, nil
}

// begin has every service use what it prepared for the configuration of the start.
func (s *services) begin(ctx context.Context, c config.Config) error {
	use, err := s.admit(ctx, c)
	if err == nil {
		use()
	}
	return err
}

func (s *services) work(r config.Role, resign func(error)) (Work, func(context.Context)) {
	one := s.byTable[r.Section]
	if one == nil { // the section of a role is that of a kind
		return func(context.Context, election.Leadership) error {
			return fmt.Errorf("no service works on roles of %q", r.Section)
		}, nil
	}
	return one.Work(r, resign)
}

func (s *services) routes() (all []web.Route) {
	for _, one := range s.all {
		all = append(all, one.Routes()...)
	}
	return all
}

func (s *services) collectors() (all []prometheus.Collector) {
	for _, one := range s.all {
		all = append(all, one.Collectors()...)
	}
	return all
}

func (s *services) close() {
	for _, one := range s.all {
		one.Close()
	}
}
