//go:build unix

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

const (
	teardown = 5 * time.Second  // for nodes to end in order
	warmup   = 20 * time.Second // for the first act
	step     = 20 * time.Millisecond
	refresh  = 200 * time.Millisecond
)

// Run runs the demo and judges it. If ctx ends first, it stops early and judges what has
// happened so far. The error is about the demo itself; Verdict.Fault says what it proved.
func Run(ctx context.Context, cfg Config) (v evidence.Verdict, err error) {
	backing := &servers{}
	defer func() { err = errors.Join(err, backing.Clear()) }()
	show := screen.New(cfg.Screen)
	if err := backing.prepare(ctx, cfg, show.Say); err != nil {
		return v, err
	}
	observer, err := pgops.Observe(ctx, pgmint.Config{URL: backing.url, AppName: "conch demo"})
	if err != nil {
		return v, err
	}
	defer observer.Close()

	shut, err := backing.open(ctx, cfg, show.Say)
	if err != nil {
		return v, err
	}
	defer shut()

	s := &supervisor{cfg: cfg, servers: backing, cast: newCast(cfg.Nodes), screen: show, observer: observer}
	defer s.cast.End(0)
	if backing.payer != nil {
		s.traffic = newTraffic(backing, s.cast.All)
		defer s.traffic.customers.close()
	}
	introduce(show, s.traffic != nil)
	show.Say("starting %d processes, lease %s …", cfg.Nodes, cfg.Lease)
	show.Open()
	err = s.supervise(ctx)
	show.Close()
	if err != nil {
		return v, err
	}
	// The rest must also run after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	show.Say("stopping the nodes and judging what they left behind …")
	if s.traffic != nil {
		s.traffic.customers.close()
	}
	s.cast.End(teardown)
	record, err := backing.collect(ctx)
	if err != nil {
		return v, fmt.Errorf("reading the evidence: %w", err)
	}
	record.Kills, record.Entries = s.kills, s.entries
	if s.traffic != nil {
		record.Account.Requests = s.traffic.customers.requests
	}
	return evidence.Judge(record), nil
}
