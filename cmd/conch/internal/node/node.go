package node

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/datadir"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/expiry"
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

	Fact      func(election.Fact) // gets what happens to scopes, as in election.Events; may be nil
	LostLines func() uint64       // of the log; may be nil
}

// Node is a running node.
type Node struct {
	opts     Options
	cfg      config.Config // at the start
	latest   config.Config // of the last good reload; owned by loop's goroutine
	id       string
	log      *slog.Logger
	roles    roleHost
	electors *electorSet // roles, if it is that; nil on a node without a database
	meters   *metric.Collector
	outage   *outage.Teller
	tokens   *web.Tokens
	cert     *web.Certificate
	dir      *datadir.Dir
	mint     *pgmint.Mint
	services *services
	board    *web.Board
	shown    shown
	measures sync.Once
	measured []prometheus.Collector // see collectors
	serving  atomic.Pointer[web.Site]

	expiry *prometheus.GaugeVec                // of certificates
	grades map[string]expiry.Grade             // the same, as of the last look; owned by loop's goroutine
	server atomic.Pointer[[]*x509.Certificate] // what the database's server shows; nil: it is not known

	asked           context.Context            // ends when the node is asked to end, by its caller or by a role
	finish          context.CancelCauseFunc    // asks the node to end
	final           atomic.Pointer[FinalError] // of the role that asked first; nil: none
	over            context.Context            // ends with the node
	endOver         context.CancelFunc
	electorsOver    context.Context // ends once all electors have ended: nothing can be released any more
	endElectorsOver context.CancelFunc
	hurry           context.Context // ends when commands are to be killed at once
	endHurry        context.CancelFunc
	calls           sync.WaitGroup
}

// roleHost runs the roles of a node: an electorSet, standalone or noRoles.
type roleHost interface { //nolint:interfacebloat // what web and pgmint ask of an elector, and the two ends of a node's life
	web.Electors
	pgops.Leader
	Status(scope string) (election.Status, bool)
	assign(config.Config) error
	end(ctx context.Context, why error) error
}

// ErrNoDatabase means that a configuration has roles, names no database and is not standalone.
var ErrNoDatabase = errors.New("no database: give --db URL, set CONCH_DB_URL or url in [database]; " +
	"a node that is the only copy says so by standalone = true in [node]")

// hurryTimeout is how long a node that was told to hurry waits for its roles to end.
const hurryTimeout = 2 * time.Second

// Run runs a node until ctx ends, or a role ends the node, and every scope is given up. It returns
// the result of that role, or an error if a scope could not be given up. The history shows the
// cause of ctx, unless it is only context.Canceled.
func Run(ctx context.Context, o Options) error {
	if err := Check(o.Config, o.Kinds); err != nil {
		return err
	}
	n := newNode(ctx, o)
	defer n.finish(nil)
	defer n.endOver()
	if n.cfg.Node.DataDir != "" {
		dir, err := datadir.Take(n.cfg.Node.DataDir)
		if err != nil {
			return Unusable("data_dir", n.cfg.Node.DataDir, err)
		}
		n.dir = dir
		defer dir.Release()
	}
	if err := n.makeRoleHost(); err != nil {
		return err
	}
	if n.mint != nil {
		defer n.mint.Close()
	}
	n.services = n.open()
	defer n.services.close()
	defer n.endOver() // before: what they do beside sees that the node ends, and reports no fault
	apply, err := n.services.prepare(n.asked, n.cfg)
	if err != nil {
		return err
	}
	apply()
	serve, closeSite, err := n.site(n.asked)
	if err != nil {
		return err
	}
	defer closeSite()

	stopObeying := n.obey()
	defer stopObeying()
	err = n.roles.assign(n.cfg)
	failed := serve() // a moment before, no scope would be known
	if err == nil {
		n.log.Info("node started", slog.String("id", n.id), slog.Any("scopes", n.roles.Scopes()), slog.Bool("standalone", n.cfg.Node.Standalone))
		err = n.loop(failed)
	}
	fault := n.shutDown()
	if !errors.Is(fault, errHurried) {
		n.endElectorsOver() // ends the calls to callbacks that never acknowledged their stop
	}
	n.endOver()
	n.calls.Wait()
	n.log.Info("node ended", slog.String("id", n.id))
	if final := n.final.Load(); final != nil {
		return final.Result
	}
	return errors.Join(err, fault)
}

// newNode makes a node that is asked to end when ctx ends.
func newNode(ctx context.Context, o Options) *Node {
	n := &Node{opts: o, cfg: o.Config, id: cmp.Or(o.Config.Election.ID, election.Identity()), log: o.Log, board: web.NewBoard(), expiry: metric.Certificates()}
	n.cfg.Election.ID = n.id
	n.latest = n.cfg
	n.show(n.cfg)
	n.asked, n.finish = context.WithCancelCause(ctx)
	lasting := context.WithoutCancel(ctx)
	n.over, n.endOver = context.WithCancel(lasting)
	// Not derived from over: as long as an elector runs, a callback that returns is released.
	n.electorsOver, n.endElectorsOver = context.WithCancel(lasting)
	n.hurry, n.endHurry = context.WithCancel(n.over)
	return n
}

// makeRoleHost makes what runs the roles, and what it needs.
func (n *Node) makeRoleHost() error {
	meters := metric.New
	if n.cfg.Node.GaugesOnly {
		meters = metric.NewSummed
	}
	n.meters = meters(n.cfg.Scopes(), func(scope string) *fence.Gate { return n.roles.Gate(scope) }, nil)
	switch {
	case n.cfg.Node.Standalone:
		n.roles = newStandalone(n)
		return nil
	case !n.cfg.UsesDatabase():
		n.roles = noRoles{}
		return nil
	}
	base := n.cfg.Database
	base.About = n.about
	mint, err := pgmint.New(base)
	if err != nil {
		return err
	}
	n.mint = mint
	n.electors = &electorSet{newElector: n.newElector, work: n.work, spawn: n.calls.Go, over: n.over, electorsOver: n.electorsOver, want: map[string]config.Role{}}
	n.roles = n.electors
	n.outage = &outage.Teller{Log: n.log, Scopes: n.roles.Scopes}
	return nil
}

// loop reloads when asked, and looks at certificates, until the node is asked to end or a listener fails.
func (n *Node) loop(failed <-chan error) error {
	if n.cfg.UsesDatabase() {
		n.calls.Go(func() { n.watchServer(n.asked) })
	}
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for n.lookAtPapers(time.Now()); ; n.lookAtPapers(time.Now()) {
		select {
		case <-n.asked.Done():
			return nil
		case err := <-failed:
			return err
		case <-n.opts.Reload:
			n.reload()
		case <-again.C:
		}
	}
}

// shutDown gives up every scope that the node leads.
func (n *Node) shutDown() error {
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
		n.endHurry()
		timer := time.NewTimer(hurryTimeout)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			cancel(errHurried)
		}
	})
	why := context.Cause(n.asked)
	if errors.Is(why, context.Canceled) {
		why = nil // a plain cancellation, as by a signal, gives no reason
	}
	return n.roles.end(ctx, why)
}

var errHurried = errors.New("told to hurry: some roles had not ended, so their scopes are not released")

// obey carries out drains and transfers that operators ask for in the database.
func (n *Node) obey() (stop func()) {
	if !n.cfg.UsesDatabase() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(n.over)
	n.calls.Go(func() { pgops.Obey(ctx, n.cfg.Database, n.id, n.roles) })
	return cancel
}
