//go:build unix

package consortium

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
)

// Run runs the organisations and judges what became of their payments. If ctx ends first, it stops early and judges what
// has happened so far. The error is about the run itself; Verdict.Fault says what it proved.
func Run(ctx context.Context, cfg Config) (v auditor.Verdict, err error) {
	s := &site{Cast: stage.NewCast[*organisation](len(members)), cfg: cfg, terms: cfg.terms()}
	defer func() { err = errors.Join(err, s.clear()) }()
	show := screen.New(cfg.Screen)
	if err := s.prepare(ctx, show.Say); err != nil {
		return v, err
	}
	sup := &supervisor{site: s, screen: show, counted: map[string]int{}}
	if cfg.Chaos != nil {
		sup.plan = Plan(cfg.Chaos.Seed, cfg.Chaos.Faults)
		show.Say("%d faults of seed %d; again with: %s", cfg.Chaos.Faults, cfg.Chaos.Seed, cfg.Replay())
	}
	for i, o := range s.All {
		sup.customers = append(sup.customers, newCustomers(o, i, s.contract))
	}
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer sup.close()
	defer stop()
	show.Say("starting %d nodes …", len(s.All))
	show.Open()
	err = sup.supervise(ctx, looking)
	show.Close()
	if err != nil {
		return v, err
	}
	// The rest must also run after Ctrl-C.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMost)
	defer cancel()
	show.Say("reading the ledger and judging …")
	stop()
	sup.wait()
	record, err := sup.collect(ending)
	if err != nil {
		return v, fmt.Errorf("reading the evidence: %w", err)
	}
	return auditor.Judge(record), nil
}

// collect reads the evidence: what the nodes tell, then, when they have ended, their databases and the ledger.
func (s *supervisor) collect(ctx context.Context) (r auditor.Record, err error) {
	r = auditor.Record{
		Contract: auditor.Contract{Needed: needed, Names: map[string]string{}},
		Kills:    s.kills, Pauses: s.pauses, Partitions: s.partitions, Dispatches: s.dispatches,
		Restores: s.restores, Held: s.holds, Ended: s.endings, Stuck: s.stuck, Troubles: s.troubles,
	}
	if s.cfg.Chaos != nil {
		r.Faults, r.Seed = s.counted, &s.cfg.Chaos.Seed
	}
	var senders []string
	for i, o := range s.All {
		r.Contract.Members, r.Contract.Nodes = append(r.Contract.Members, o.account), append(r.Contract.Nodes, o.Name)
		r.Contract.Names[o.account] = o.Name
		senders = append(senders, o.account)
		c := s.customers[i]
		r.Requests = append(r.Requests, c.asked()...)
		told, err := c.told(ctx)
		if err != nil {
			return r, fmt.Errorf("%s does not tell what became of its transactions: %w%s", o.Name, err, o.Said())
		}
		r.Told = append(r.Told, told...)
	}
	s.End(teardown)
	if s.bandit != nil {
		r.Attack = s.bandit.Attack()
		senders = append(senders, slices.Collect(maps.Keys(r.Attack.Accounts))...)
	}
	for _, o := range s.All {
		known, err := openings(ctx, o, s.contract)
		if err != nil {
			return r, err
		}
		r.Openings = append(r.Openings, known...)
	}
	r.Ledger, err = explorer.ReadContract(ctx, s.Chain.HTTP, s.contract, senders)
	return r, err
}

func openings(ctx context.Context, o *organisation, contract string) ([]auditor.Opening, error) {
	db, err := pgnotes.Open(ctx, o.db, contract)
	if err != nil {
		return nil, err
	}
	defer db.Close(context.WithoutCancel(ctx))
	return db.Openings(ctx, o.Name)
}
