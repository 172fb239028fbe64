package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
)

// Kind describes a service before there is a node. Each is one folder of
// cmd/conch/internal/service and one line in main's list. Only Section and Open are required.
type Kind struct {
	// Section makes an empty section of the configuration for the service.
	Section func() config.Section
	// Check reports to fault, by key, what would prevent a node's start. It starts nothing and
	// opens no connection.
	Check func(c config.Config, fault func(key string, err error))
	// Remark tells, by key, what is no fault and what a writer may not have meant.
	Remark func(c config.Config, now time.Time, tell func(key, text string))
	// Examine finds for conch doctor what a node would meet. It changes nothing.
	Examine func(ctx context.Context, c config.Config) []doctor.Finding
	// Papers are the certificates that the service's part of a configuration names.
	Papers func(c config.Config, now time.Time) []certificate.Paper
	// Tables are the service's tables in the database; nil if it has none.
	Tables *migrate.Tables
	// OpenAPI documents the routes of the service; see web.Document.
	OpenAPI string
	// Open makes the service when a node starts.
	Open func(f Frame) Service
}

// Sections returns the Section functions of the kinds, for config.Source.
func Sections(kinds []Kind) (all []func() config.Section) {
	for _, k := range kinds {
		all = append(all, k.Section)
	}
	return all
}

// Service is what one wing does in a running node. Work, the functions that it returns, the
// routes and the collectors are used concurrently; the other methods by one goroutine.
type Service interface { //nolint:interfacebloat // what each frame takes; Plain has all of it
	// Prepare prepares the service for a configuration, at the start and at each reload. It
	// takes effect when apply is called, once nothing can fail any more. Without that call, or
	// after an error, nothing has changed.
	Prepare(ctx context.Context, c config.Config) (apply func(), err error)
	// Work returns w, which a role runs while it leads; nil if the role only keeps a gate.
	// Background, unless nil, runs as long as the node may lead the role, between its terms too. A
	// role that has failed and cannot end calls resign, so that another node can lead; resign
	// is nil on a standalone node.
	Work(r config.Role, resign func(why error)) (w Work, background func(ctx context.Context))
	// Routes are the service's part of the API.
	Routes() []web.Route
	// Collectors are the service's part of /metrics.
	Collectors() []prometheus.Collector
	// Health is what the service says of itself on /healthz, under its table; nil: nothing. It must not wait, and callers
	// without a token read it.
	Health() any
	// Papers are the certificates that others have shown to this node. It must not wait.
	Papers(now time.Time) []certificate.Paper
	// Close ends what the service has begun. It is called after all roles have ended.
	Close()
}

// Frame is what a node offers its services.
type Frame struct {
	ID           string // under which the node campaigns
	Log          *slog.Logger
	Database     *pgmint.Config                // nil: the node uses none
	Over         context.Context               // ends with the node
	ElectorsOver context.Context               // ends once all electors have ended: nothing can be released any more
	Hurry        context.Context               // ends when commands are to be killed at once
	Go           func(f func())                // runs f in a goroutine that the node waits for; f must end with Over
	Blocked      func(scope string)            // counts an attempt that a shut gate refused (S17)
	Accounts     *Accounts                     // that one service keeps for all
	Board        *web.Board                    // what the services tell on /v1/events
	Ground       *Ground                       // the network of this node, which one service has
	Collectors   func() []prometheus.Collector // those of /metrics, once the services are open
	Services     func() []Service              // all of them, once they are open: for what they may be besides (upkeep.go)
}

// Plain is a service that does nothing. Embed it, and write the methods that differ.
type Plain struct{}

// Prepare implements Service.
func (Plain) Prepare(context.Context, config.Config) (func(), error) { return func() {}, nil }

// Work implements Service.
func (Plain) Work(config.Role, func(error)) (Work, func(context.Context)) { return nil, nil }

// Routes implements Service.
func (Plain) Routes() []web.Route { return nil }

// Collectors implements Service.
func (Plain) Collectors() []prometheus.Collector { return nil }

// Health implements Service.
func (Plain) Health() any { return nil }

// Papers implements Service.
func (Plain) Papers(time.Time) []certificate.Paper { return nil }

// Close implements Service.
func (Plain) Close() {}

// services holds the services of a node, in the order of their kinds.
type services struct {
	all     []Service
	byTable map[string]Service
}

func (n *Node) open() *services {
	s := &services{byTable: map[string]Service{}}
	frame := Frame{
		ID: n.id, Log: n.log, Over: n.over, ElectorsOver: n.electorsOver, Hurry: n.hurry, Go: n.calls.Go, Blocked: n.meters.Blocked,
		Accounts: new(Accounts), Board: n.board, Ground: new(Ground),
		Services: func() []Service { return s.all }, Collectors: func() []prometheus.Collector { return append(metric.Program(), n.collectors(s)...) },
	}
	if n.cfg.UsesDatabase() {
		frame.Database = &n.cfg.Database
	}
	for _, k := range n.opts.Kinds {
		one := k.Open(frame)
		s.all = append(s.all, one)
		s.byTable[k.Section().Table()] = one
	}
	return s
}

// prepare has every service prepare for a configuration; apply has them all switch to it.
func (s *services) prepare(ctx context.Context, c config.Config) (apply func(), err error) {
	var prepared []func()
	for _, one := range s.all {
		apply, err := one.Prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		prepared = append(prepared, apply)
	}
	return func() {
		for _, apply := range prepared {
			apply()
		}
	}, nil
}

// gather joins what each service has of something.
func gather[T any](s *services, of func(Service) []T) (all []T) {
	for _, one := range s.all {
		all = append(all, of(one)...)
	}
	return all
}

// health returns what the services say of themselves, by table.
func (s *services) health() map[string]any {
	all := map[string]any{}
	for table, one := range s.byTable {
		if said := one.Health(); said != nil {
			all[table] = said
		}
	}
	return all
}

func (s *services) close() {
	for _, one := range s.all {
		one.Close()
	}
}
