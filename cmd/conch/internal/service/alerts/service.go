package alerts

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/memory"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [alerting] and [[alerts]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Remark:  remark,
		Examine: examine,
		Tables:  &pgstore.Tables,
		OpenAPI: openAPI,
		Open:    func(f node.Frame) node.Service { return newService(f) },
	}
}

// Notify is the service of [[notify]]. What tells its receivers is that of [[alerts]].
func Notify() node.Kind {
	return node.Kind{Section: func() config.Section { return new(receiver.Section) }, Open: func(node.Frame) node.Service { return node.Plain{} }}
}

// check reports secrets that cannot be read, and what the evaluator would refuse.
func check(c config.Config, fault func(key string, err error)) {
	setupOf(c, "check", c.UsesDatabase(), fault)
}

type service struct {
	node.Plain
	frame    node.Frame
	database *pgstore.Store // nil: the node uses none
	store    store
	fault    error // why there is no store
	ledger   *ledger
	patience time.Duration // of a request with the database

	mu        sync.Mutex
	began     *config.Node      // with which this node was started: what needs a restart stays as it was
	setup     *setup            // of the file; nil: it says nothing about alerts
	changed   chan struct{}     // closed when there is another setup
	evaluator *alerts.Evaluator // that leads; nil: none does
}

func newService(f node.Frame) *service {
	s := &service{frame: f, ledger: newLedger(), patience: patience, changed: make(chan struct{})}
	if f.Database == nil {
		s.store = memory.NewStore()
	} else if s.database, s.fault = pgstore.Open(f.Over, f.Database.Connection(" alerts")); s.fault == nil {
		s.store = s.database
	}
	f.Board.Offer(kindAlert, s.selects)
	f.Go(func() { s.watch(f.Over) })
	f.Go(func() { s.tellCounts(f.Over) })
	return s
}

// Prepare implements node.Service.
func (s *service) Prepare(ctx context.Context, c config.Config) (apply func(), err error) {
	var faults []error
	s.mu.Lock()
	began := s.began
	s.mu.Unlock()
	if began != nil {
		c.Node = *began
	}
	u := setupOf(c, s.frame.ID, s.database != nil, func(key string, err error) {
		if err != nil {
			faults = append(faults, errors.New(c.Fault(key, err.Error()).String()))
		}
	})
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if u != nil {
		if err := cmp.Or(s.fault, u.cfg.WithDefaults().Validate()); err != nil {
			return nil, err
		}
		if err := s.checkTables(ctx); err != nil {
			return nil, err
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.began = &c.Node; u.is(s.setup) {
			if u != nil {
				s.setup.opened.Store(u.opened.Load())
			}
			return
		}
		s.setup = u
		close(s.changed)
		s.changed = make(chan struct{})
	}, nil
}

// patience is how long one request waits for the database.
const patience = 5 * time.Second

// checkTables refuses tables that this program cannot work with. A node starts without its database, and asks again.
func (s *service) checkTables(ctx context.Context) error {
	if s.database == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.database.Check(ctx)
	if _, misfit := errors.AsType[*migrate.VersionError](err); misfit {
		return err
	}
	return nil
}

// now returns what the file says, and what is closed when that has changed.
func (s *service) now() (*setup, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setup, s.changed
}

// leads notes who evaluates on this node; nil: nobody.
func (s *service) leads(e *alerts.Evaluator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evaluator = e; e == nil {
		s.ledger.clear()
	}
}

// look has a silence be heeded at once, if this node evaluates.
func (s *service) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evaluator != nil {
		s.evaluator.Look()
	}
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return s.routes() }

// Close implements node.Service.
func (s *service) Close() {
	if s.database != nil {
		s.database.Close()
	}
}
