package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/datadir"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Options describe a node. Config and Log are required.
type Options struct {
	Config  config.Config
	Load    func() (config.Config, error) // reads the configuration again
	Version string
	Log     *slog.Logger
	Reload  <-chan struct{} // asks for a reload
	Hurry   <-chan struct{} // closed to hurry a shutdown that is under way
	Kinds   []Kind          // the services, in the order of the configuration's sections

	Fact func(election.Fact) // gets what happens to scopes, as in election.Events; may be nil
}

// Node is a running node.
type Node struct {
	opts     Options
	cfg      config.Config // at the start
	latest   config.Config // of the last good reload; owned by live's goroutine
	id       string
	log      *slog.Logger
	staff    staff
	meters   *metric.Collector
	outage   *outage.Teller
	tokens   *web.Tokens
	cert     *web.Certificate
	dir      *datadir.Dir
	mint     *pgmint.Mint
	services *services

	asked   context.Context // ends when the node is asked to end
	over    context.Context // ends with the node
	gone    context.Context // ends once all electors have ended: nothing can be released any more
	allGone context.CancelFunc
	hurry   context.Context // ends when commands are to be killed at once
	calls   sync.WaitGroup
}

// staff runs the roles: a roster, or alone on a standalone node.
type staff interface { //nolint:interfacebloat // what web and pgmint ask of an elector, and the two ends of a node's life
	web.Electors
	pgops.Leader
	Status(scope string) (election.Status, bool)
	assign(config.Config) error
	end(ctx context.Context) error
}

// ErrNoDatabase means that a configuration names no database and is not standalone.
var ErrNoDatabase = errors.New("no database: give --db URL, set CONCH_DB_URL or url in [database]; " +
	"a node that is the only copy says so by standalone = true in [node]")

// hurried is how long a node that was told to hurry waits for its roles to end.
const hurried = 2 * time.Second

// Run runs a node until ctx ends and every scope is given up. It returns an error if a scope
// could not be given up. The history shows the cause of ctx, unless it is only
// context.Canceled.
func Run(ctx context.Context, o Options) error {
	if err := Check(o.Config, o.Kinds); err != nil {
		return err
	}
	n := &Node{opts: o, cfg: o.Config, id: o.Config.Election.ID, log: o.Log, asked: ctx}
	if n.id == "" {
		n.id = election.Identity()
	}
	n.cfg.Election.ID = n.id
	n.latest = n.cfg
	var closeOver, rush context.CancelFunc
	n.over, closeOver = context.WithCancel(context.WithoutCancel(ctx))
	defer closeOver()
	// Not derived from over: as long as an elector runs, a callback that returns is released.
	n.gone, n.allGone = context.WithCancel(context.WithoutCancel(ctx))
	n.hurry, rush = context.WithCancel(n.over)
	defer rush()

	if n.cfg.Node.DataDir != "" {
		dir, err := datadir.Take(n.cfg.Node.DataDir)
		if err != nil {
			return Unusable("data_dir", n.cfg.Node.DataDir, err)
		}
		n.dir = dir
		defer dir.Release()
	}
	if err := n.hire(); err != nil {
		return err
	}
	if n.mint != nil {
		defer n.mint.Close()
	}
	n.services = n.open()
	defer n.services.close()
	if err := n.services.begin(ctx, n.cfg); err != nil {
		return err
	}
	closeSite, failed, err := n.serve(ctx)
	if err != nil {
		return err
	}
	defer closeSite()

	stopObeying := n.obey()
	defer stopObeying()
	err = n.staff.assign(n.cfg)
	if err == nil {
		n.log.Info("node started", slog.String("id", n.id), slog.Any("scopes", n.staff.Scopes()), slog.Bool("standalone", n.cfg.Node.Standalone))
		err = n.live(ctx, failed)
	}
	fault := n.goDown(rush)
	if !errors.Is(fault, errHurried) {
		n.allGone() // ends the calls to callbacks that never acknowledged their stop
	}
	err = errors.Join(err, fault)
	closeOver()
	n.calls.Wait()
	n.log.Info("node ended", slog.String("id", n.id))
	return err
}

func (n *Node) hire() error {
	n.meters = metric.New(n.cfg.Scopes(), func(scope string) *fence.Gate { return n.staff.Gate(scope) }, nil)
	if n.cfg.Node.Standalone {
		n.staff = newAlone(n, func(r config.Role) (Work, func(context.Context)) { return n.services.work(r, nil) })
		return nil
	}
	mint, err := pgmint.New(n.cfg.Database)
	if err != nil {
		return err
	}
	n.mint = mint
	n.staff = &roster{found: n.found, want: map[string]config.Role{}}
	n.outage = &outage.Teller{Log: n.log, Scopes: n.staff.Scopes}
	return nil
}

// live waits for the end of ctx or for a listener that failed, and reloads when asked.
func (n *Node) live(ctx context.Context, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-n.opts.Reload:
			n.reload()
		}
	}
}

// why returns the reason that the history shows for the end of the node; nil: none.
func (n *Node) why() error {
	if cause := context.Cause(n.asked); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil // a plain cancellation, as by a signal, gives no reason
}

// goDown gives up every scope that the node leads.
func (n *Node) goDown(rush func()) error {
	n.log.Info("draining", slog.String("id", n.id))
	ctx, cancel := context.WithCancelCause(n.over)
	defer cancel(nil)
	over := make(chan struct{})
	defer close(over)
	n.calls.Go(func() {
		select {
		case <-over:
			return
		case <-n.opts.Hurry:
		}
		n.log.Warn("told to hurry: killing commands, and no longer waiting for callbacks")
		rush()
		timer := time.NewTimer(hurried)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			cancel(errHurried)
		}
	})
	return n.staff.end(ctx)
}

var errHurried = errors.New("told to hurry: some roles had not ended, so their scopes are not released")

// obey carries out drains and transfers that operators ask for in the database.
func (n *Node) obey() (stop func()) {
	if n.cfg.Node.Standalone {
		return func() {}
	}
	ctx, cancel := context.WithCancel(n.over)
	n.calls.Go(func() { pgops.Obey(ctx, n.cfg.Database, n.id, n.staff) })
	return cancel
}
