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

// warmup bounds the connection attempt before the first term.
const warmup = 2 * time.Second

type node struct {
	cfg     Config
	acks    *evidence.Lines
	outside *evidence.Lines
	reports chan Report

	order sync.Mutex // of reports
	begun int64      // epoch of the last term that was reported
	early Report     // held back until its term is reported

	// writing is held by the term that writes: a new term's role waits for the last one's to end.
	writing sync.Mutex
	ledger  *pgledger.Writer // nil after an error

	rows, acts atomic.Int64
}

// Run runs one worker until ctx ends, and then gives up the leadership in order. It joins mint, elector
// and Obey itself and is no node, since a role of a node has one door, and a worker works behind both.
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
	defer n.closeLedger(ctx)

	over := make(chan struct{})
	// Not from ctx: as in a node, it ends after the leadership was given up. Closing a
	// connection costs the server more than a mint, just when the successor needs the server.
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

// warm connects before the first term, so that a takeover costs no connection. If the
// database is away, the term connects.
func (n *node) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, warmup)
	defer cancel()
	if w, err := pgledger.Open(ctx, n.cfg.Database.URL); err == nil {
		n.ledger = w
	}
}

func (n *node) closeLedger(ctx context.Context) {
	n.writing.Lock() // a role that ignored its end still holds it
	defer n.writing.Unlock()
	n.drop(ctx)
}

// drop closes a connection in an unknown state.
func (n *node) drop(ctx context.Context) {
	if n.ledger != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		n.ledger.Close(ctx)
		n.ledger = nil
	}
}
