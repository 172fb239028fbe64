package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

// warmup bounds the attempt to be connected before the first term.
const warmup = 2 * time.Second

type node struct {
	cfg     Config
	acks    *evidence.Lines
	outside *evidence.Lines
	reports chan Report

	order sync.Mutex // of reports
	begun int64      // the epoch that was last said to have begun
	early Report     // said as soon as its epoch is

	// One term writes at a time: the role of a new term waits for that of the
	// last one to have noticed.
	writing sync.Mutex
	ledger  *pgledger.Writer // nil when broken

	rows, acts atomic.Int64
}

// Run is the life of one node: it campaigns and works until ctx ends, then gives
// up in order.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	n := &node{cfg: cfg.withDefaults(), reports: make(chan Report, backlog)}
	mint, err := pgmint.New(n.cfg.Database)
	if err != nil {
		return err
	}
	defer mint.Close()
	if n.acks, err = evidence.OpenLines(evidence.AckFile(n.cfg.Dir, n.cfg.ID)); err != nil {
		return err
	}
	defer func() { _ = n.acks.Close() }()
	if n.outside, err = evidence.OpenLines(evidence.OutsideFile(n.cfg.Dir)); err != nil {
		return err
	}
	defer func() { _ = n.outside.Close() }()

	elector, err := election.New(election.Config{
		Mint: mint, ID: n.cfg.ID, Lease: n.cfg.Lease, Takeover: n.cfg.Takeover,
		Roles:  []election.Role{{Scope: n.cfg.Scope, Fenced: n.keepLedger, Lead: n.actOutside}},
		Events: election.Events{Fact: n.fact},
		Logger: n.cfg.Logger,
	})
	if err != nil {
		return err
	}
	n.warm(ctx)
	defer n.cool(ctx)

	over := make(chan struct{})
	// Not from ctx: as in a node, it ends after everything was given up. To end a connection
	// costs the server more than a mint, and would come when the successor needs it.
	obey, cease := context.WithCancel(context.WithoutCancel(ctx))
	defer cease()
	var beside sync.WaitGroup
	beside.Go(func() { n.relay(over, elector.Gate(n.cfg.Scope)) })
	beside.Go(func() { pgops.Obey(obey, n.cfg.Database, n.cfg.ID, elector) })
	err = elector.Run(ctx)
	close(over)
	cease()
	beside.Wait()
	return err
}

// warm connects ahead of the first term, so that taking over costs no
// connection. A database that is away costs nothing here: the term will try.
func (n *node) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, warmup)
	defer cancel()
	if w, err := pgledger.Open(ctx, n.cfg.Database.URL); err == nil {
		n.ledger = w
	}
}

func (n *node) cool(ctx context.Context) {
	n.writing.Lock() // a role that ignored its end still has it
	defer n.writing.Unlock()
	n.drop(ctx)
}

// drop closes a connection of unknown state.
func (n *node) drop(ctx context.Context) {
	if n.ledger != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		n.ledger.Close(ctx)
		n.ledger = nil
	}
}
