//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/payer"
)

// asked is the part of pending's pace that the sequencer is to have, where one member endorses.
const asked = 0.5

// landed measures payments from the request until they are final on a chain. The ceiling, in turn with it, is package
// pending, which lands the very same calls on another chain with the same past.
func landed(ctx context.Context, cfg Config, s *site, r *Report) error {
	a := cfg.amounts()
	for _, kind := range []struct{ members, needed int }{{2, 1}, {5, 1}, {5, 5}} {
		if kind.members > a.parties {
			continue
		}
		name := fmt.Sprintf("chain_%d_of_%d", kind.needed, kind.members)
		cfg.Say("sequencer: %s, %d pairs of %d payments, by real nodes …", name, a.landings, a.payments)
		g, err := openGroup(ctx, cfg, s, shape{kind.members, kind.needed, true})
		if err == nil {
			err = g.compare(ctx, name, a, r)
		}
		if err := errors.Join(err, g.Clear()); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) compare(ctx context.Context, name string, a amounts, r *Report) error {
	l, err := g.landing(ctx, a.payers)
	if err != nil {
		return err
	}
	each := max(a.payments/len(g.users), 1)
	if _, err := l.ours(ctx, each); err != nil { // so that pending has something to land when its turn comes first
		return err
	}
	var ours, raw []run
	for i := range a.landings {
		for half := range 2 {
			to, land := &ours, func() (run, error) { return l.ours(ctx, each) }
			if half == i%2 { // ABBA
				to, land = &raw, func() (run, error) { return l.raw(ctx) }
			}
			one, err := land()
			if err != nil {
				return err
			}
			*to = append(*to, one)
		}
	}
	report(r, name, ours, raw)
	return nil
}

// landing is a contract on a chain, and another chain with the same past.
type landing struct {
	*group

	tape  *explorer.Tape // of the contract's chain
	other *devnode.Node
	heard *explorer.Tape     // of the other chain
	twin  *consortium.Member // that sends there
	spool []explorer.Spool   // what the sequencer has landed, and pending has not
}

// run is what came of one run.
type run struct {
	perSecond, gas, batch float64
	many                  int
	labour
}

func (g *group) landing(ctx context.Context, users int) (*landing, error) {
	l := &landing{group: g, tape: explorer.NewTape(g.Chain.HTTP, g.Contract)}
	g.Afterwards(func() error { l.tape.Close(); return nil })
	if err := g.settle(ctx, max(users/len(g.Members), 1)); err != nil {
		return nil, err
	}
	var err error
	if l.other, err = devnode.Start(ctx, g.cfg.Devnode, "--block-time", chainTime.String(), "--finality", fmt.Sprint(chainDepth)); err != nil {
		return nil, err
	}
	g.Afterwards(func() error { l.other.Stop(); return nil })
	l.heard = explorer.NewTape(l.other.HTTP, g.Contract)
	g.Afterwards(func() error { l.heard.Close(); return nil })
	if err := l.tape.Copy(ctx, l.other.HTTP); err != nil {
		return nil, err
	}
	if l.twin, err = l.second(ctx, l.Members[0]); err != nil {
		return nil, err
	}
	_, err = l.heard.Read(ctx)
	return l, err
}

// second starts a node that has a member's account on the other chain, and nothing else.
func (l *landing) second(ctx context.Context, of *consortium.Member) (*consortium.Member, error) {
	db, err := l.database(ctx)
	if err != nil {
		return nil, err
	}
	m, err := l.Twin(ctx, of, l.other, db)
	if err != nil {
		return nil, err
	}
	return m, ask(ctx, m, http.MethodGet, "/v1/transactions", nil, new(any)) // as soon as it serves
}

// ours has each user pay so often, and keeps what the coordinator has sent.
func (l *landing) ours(ctx context.Context, each int) (one run, err error) {
	before, err := l.labour(ctx, l.Chain, l.Members...)
	if err != nil {
		return one, err
	}
	began := time.Now()
	if err := l.pay(ctx, each); err != nil {
		return one, err
	}
	took := time.Since(began)
	after, err := l.labour(ctx, l.Chain, l.Members...)
	if err != nil {
		return one, err
	}
	s, err := l.tape.Read(ctx)
	if err != nil {
		return one, err
	}
	many := each * len(l.users)
	if s.Said[auditor.Landed] != many {
		return one, fmt.Errorf("%d payments have ended, and %d have landed", many, s.Said[auditor.Landed])
	}
	l.spool = append(l.spool, s)
	return runOf(s, took, after.since(before)), nil
}

// raw has package pending land what the sequencer has landed first.
func (l *landing) raw(ctx context.Context) (one run, err error) {
	s := l.spool[0]
	l.spool = l.spool[1:]
	before, err := l.labour(ctx, l.other, l.twin)
	if err != nil {
		return one, err
	}
	began := time.Now()
	if err := l.send(ctx, s.Calls); err != nil {
		return one, err
	}
	took := time.Since(began)
	after, err := l.labour(ctx, l.other, l.twin)
	if err != nil {
		return one, err
	}
	got, err := l.heard.Read(ctx)
	if err == nil && got.Said[auditor.Landed] != s.Said[auditor.Landed] {
		err = fmt.Errorf("by the calls with which the sequencer has landed %d entries, pending has landed %d", s.Said[auditor.Landed], got.Said[auditor.Landed])
	}
	return runOf(got, took, after.since(before)), err
}

// send has the twin send calls, in their order, and returns once it has stored that they are final.
func (l *landing) send(ctx context.Context, calls []explorer.Call) error {
	var last struct{ ID, Fate string }
	for _, c := range calls {
		body := map[string]any{"account": "ops", "to": c.To, "data": c.Data, "gas": c.Gas, "idempotency_key": c.Hash}
		if err := ask(ctx, l.twin, http.MethodPost, "/v1/transactions", body, &last); err != nil {
			return err
		}
	}
	return within(ctx, landingMost, payer.Pace, "the calls are final", func() (bool, error) {
		err := ask(ctx, l.twin, http.MethodGet, "/v1/transactions/"+last.ID, nil, &last)
		return last.Fate == "done", err
	})
}

func runOf(s explorer.Spool, took time.Duration, spent labour) run {
	many := s.Said[auditor.Landed]
	return run{
		perSecond: pace(many, took), gas: float64(s.Gas) / float64(max(many, 1)), batch: float64(many) / float64(max(len(s.Calls), 1)),
		many: many, labour: spent,
	}
}

// report prints a measurement: the pace, and what each took part with.
func report(r *Report, name string, ours, raw []run) {
	of := func(all []run, what func(run) float64) float64 {
		var each []float64
		for _, one := range all {
			each = append(each, what(one))
		}
		return median(each)
	}
	perSecond := func(one run) float64 { return one.perSecond }
	r.beside(name, of(ours, perSecond), of(raw, perSecond), "tx/s")
	if name == "chain_1_of_2" && len(raw) > 0 {
		r.beside(name+"_ratio", of(ours, perSecond)/of(raw, perSecond), asked, "of pending")
	}
	r.add(name+"_batch", of(ours, func(one run) float64 { return one.batch }), "tx/call")
	r.add(name+"_gas", of(ours, func(one run) float64 { return one.gas }), "gas/tx")
	for _, part := range []struct {
		name string
		of   func(labour) time.Duration
	}{
		{"coordinator", func(l labour) time.Duration { return l.first }}, {"others", func(l labour) time.Duration { return l.others }},
		{"database", func(l labour) time.Duration { return l.database }}, {"chain", func(l labour) time.Duration { return l.chain }},
	} {
		each := func(one run) float64 { return microseconds(part.of(one.labour), one.many) }
		if value := of(ours, each); value > 0 { // else this system does not tell
			r.beside(name+"_processor_"+part.name, value, of(raw, each), "µs/tx")
		}
	}
}
