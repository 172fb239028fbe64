package schedule

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [schedule], [[crons]] and [[workers]].
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

// mostConnections is how many connections the service has at most for each of writes and lookups.
const mostConnections = 4

type service struct {
	node.Plain
	frame node.Frame
	store *pgstore.Store // nil: the node uses no database
	fault error          // why there is none
	tally *tally
	look  chan struct{} // has an element when the file is to be looked at
	warms chan struct{} // has an element while one of the roles keeps connections ready for all

	mu        sync.Mutex
	section   *Section
	scheduler *schedule.Scheduler // of the file; nil: it has neither [schedule] nor crons
}

func newService(f node.Frame) *service {
	s := &service{frame: f, tally: newTally(), look: make(chan struct{}, 1), warms: make(chan struct{}, 1), section: new(Section)}
	f.Board.Offer(kindJob, s.selects)
	if f.Database == nil {
		return s
	}
	if s.store, s.fault = pgstore.Open(f.Over, f.Database.Connection(" crons"), mostConnections); s.fault == nil {
		f.Go(func() { s.declare(f.Over) })
		f.Go(func() { tellQueues(f.Over, f.Board, s.store.Depths) })
	}
	return s
}

// Prepare implements node.Service.
func (s *service) Prepare(ctx context.Context, c config.Config) (apply func(), err error) {
	section := config.Of[*Section](c)
	var scheduler *schedule.Scheduler
	if len(section.Roles()) > 0 {
		if s.fault != nil {
			return nil, s.fault
		}
		if err := s.checkTables(ctx); err != nil {
			return nil, err
		}
	}
	if section.there {
		cfg := section.config(s.frame.ID)
		cfg.Tell = s.tell
		if scheduler, err = schedule.New(cfg, s.store); err != nil {
			return nil, err
		}
	}
	return func() {
		s.mu.Lock()
		if s.section.there && !section.there {
			s.frame.Log.Warn("this node's file has neither a cron nor a [schedule] version any more: it retires none of the crons that it had. If they are to end, write a higher version")
		}
		s.section, s.scheduler = section, scheduler
		s.mu.Unlock()
		s.tally.know(section)
		select {
		case s.look <- struct{}{}:
		default:
		}
	}, nil
}

// checkTables refuses tables that this program cannot work with. A node starts without its database, and asks again.
func (s *service) checkTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, webPatience)
	defer cancel()
	err := s.store.Check(ctx)
	if _, misfit := errors.AsType[*migrate.VersionError](err); misfit {
		return err
	}
	return nil
}

func (s *service) now() (*Section, *schedule.Scheduler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.section, s.scheduler
}

const (
	declareAgain = 3 * time.Second  // after a declaration that has failed
	compareEvery = 30 * time.Second // with the file that counts
)

// declare declares the crons of each file that is read, and compares them with those that count, until ctx ends.
func (s *service) declare(ctx context.Context) {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	var declared schedule.File
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.look:
		}
		section, scheduler := s.now()
		if len(section.Roles()) > 0 {
			s.watch(ctx)
		}
		if scheduler == nil {
			s.tally.differ("")
			continue
		}
		file := section.config(s.frame.ID).File()
		s.compare(ctx, file)
		if !reflect.DeepEqual(file, declared) { // declared again, it would count instead of one that was begun with later
			s.declareUntilDone(ctx, scheduler)
			declared = file
		}
	}
}

func (s *service) declareUntilDone(ctx context.Context, scheduler *schedule.Scheduler) {
	for said := false; ctx.Err() == nil; said = true {
		err := scheduler.Declare(ctx)
		if err == nil {
			s.frame.Log.Info("the crons of this node's file are declared")
			return
		}
		if !said && ctx.Err() == nil {
			s.frame.Log.Warn("the crons of this node's file are not declared yet, and it is tried again", slog.Any("error", err))
		}
		_ = pause.For(ctx, declareAgain)
	}
}

// watch looks whether the database was restored. Each node does, since only those that were there before know that rows are older than they were.
func (s *service) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, webPatience)
	defer cancel()
	server, err := s.store.Server(ctx)
	if err != nil || !s.tally.found(server) {
		return
	}
	text := "the database has the rows of a backup: what they have as still to be done may have been done, and handlers are told so"
	if server.Held {
		text = "the database has the rows of a backup, and jobs are held: look at them, then say conch jobs release"
	}
	s.frame.Log.Warn(text, slog.Time("found_at", server.Restored))
}

// compare says which other node has a file of the same version and other crons.
func (s *service) compare(ctx context.Context, file schedule.File) {
	ctx, cancel := context.WithTimeout(ctx, webPatience)
	defer cancel()
	other, differs, err := s.store.Differs(ctx, file)
	switch {
	case err != nil:
		return
	case !differs:
		other = ""
	}
	if s.tally.differ(other) && other != "" {
		s.frame.Log.Warn("two files of one [schedule] version have different crons, and that of the node which has read its own last counts: give both files the same crons, or the right one a higher version",
			slog.String("other", other), slog.Int64("version", file.Version))
	}
}

// Work implements node.Service.
func (s *service) Work(r config.Role, _ func(error)) (node.Work, func(context.Context)) {
	if w, is := r.Does.(Worker); is {
		return s.work(r, w), s.standBy
	}
	return s.lead, s.standBy
}

// standBy keeps connections ready while this node may lead. That of one role is enough for all.
func (s *service) standBy(ctx context.Context) {
	if s.store == nil {
		return
	}
	select {
	case s.warms <- struct{}{}:
		s.store.KeepWarm(ctx)
		<-s.warms
	case <-ctx.Done():
	}
}

// lead runs the crons while this node leads.
func (s *service) lead(ctx context.Context, l election.Leadership) error {
	_, scheduler := s.now()
	if scheduler == nil {
		return nil // a reload has just removed it
	}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	listening.Go(func() {
		_ = s.store.Listen(ctx, func(cron int64) { scheduler.Changed(cron) }, func() { scheduler.Changed() }) // ends with ctx
	})
	s.frame.Log.Info("running crons", slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))
	defer s.tally.rest(l.Token.Scope)
	if err := scheduler.Lead(ctx, l.Gate); ctx.Err() == nil {
		return err
	}
	return nil // the elector ended the term and knows why
}

// tell logs and counts what happens while this node leads.
func (s *service) tell(e schedule.Event) {
	s.tally.count(e)
	log := s.frame.Log
	switch e := e.(type) {
	case schedule.Ran:
		log.Debug("a cron's time has come", slog.String("cron", e.Name), slog.Time("at", e.At), slog.String("outcome", e.Outcome), slog.Int64("job", e.Job))
	case schedule.PassedOver:
		log.Info("times of a cron are passed over", slog.String("cron", e.Name), slog.Time("from", e.From), slog.Time("to", e.To), slog.Int("count", e.Count), slog.String("why", e.Why))
	case schedule.ClockBack:
		log.Warn("the database's clock was set back", slog.String("cron", e.Name), slog.Time("from", e.From), slog.Time("to", e.To))
	case schedule.AttemptEnded:
		log.Debug("an attempt at a job has ended", slog.Int64("job", e.ID), slog.Int("attempt", e.Attempt), slog.String("outcome", e.Outcome), slog.String("error", e.Error), slog.Bool("over_before", e.Refused))
	case schedule.Trouble:
		s.complain(e)
	case schedule.Unreadable:
		log.Error("this node cannot read a cron's schedule, and does not run it", slog.String("cron", e.Name), slog.Any("error", e.Why))
	}
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return newAPI(s.store, s.frame.Log).routes() }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{s.tally, s.store}}
}

// Close implements node.Service.
func (s *service) Close() {
	if s.store != nil {
		s.store.Close()
	}
}
