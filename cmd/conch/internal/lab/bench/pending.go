//go:build unix

package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/payer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// account is the account of all parts of the bench, which a manager in this process or nodes send
// from.
type account struct {
	cfg   Config
	site  *site
	payer *payer.Payer
	load  *pgraw.Load // plain inserts
	scope string
	gate  *fence.Gate
	token fence.Token
}

// pending measures one account's transactions from the intent into a block, beside the same node fed by a program that
// signs and stores nothing, and with bytes signed in advance.
func pending(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("pending: on %s; a separate node makes a block every %s", s.about(ctx), payer.BlockTime)
	p, err := payer.Open(ctx, cfg.Devnode, s.url, s.dir)
	if err != nil {
		return r, err
	}
	defer p.Close()
	load, err := pgraw.OpenLoad(ctx, s.url, payer.Callers)
	if err != nil {
		return r, err
	}
	defer load.Close()
	a := &account{cfg: cfg, site: s, payer: p, load: load, scope: "pending:evm:1337:" + p.Account.String()}
	if err := a.whileLeading(ctx, &r); err != nil {
		return r, err
	}
	return r, a.some(ctx, &r, pendingParts[ledParts:])
}

// part is a part of a bench, which may be measured alone.
type part struct {
	name string
	run  func(*account, context.Context, *Report) error
}

// ledParts is in how many of pendingParts this process leads; nodes do in the others.
const ledParts = 5

var pendingParts = []part{
	{"throughput", (*account).throughput},
	{"limited", (*account).limited},
	{"told", (*account).told},
	{"idle", (*account).idle},
	{"history", (*account).history},
	{"failovers", (*account).failovers},
	{"crowd", (*account).crowd},
}

// Parts returns the names of the parts of the bench pending, in their order.
func Parts() (names []string) {
	for _, p := range pendingParts {
		names = append(names, p.name)
	}
	return names
}

// some runs those of some parts that are wanted.
func (a *account) some(ctx context.Context, r *Report, parts []part) error {
	for _, p := range parts {
		if len(a.cfg.Only) > 0 && !slices.Contains(a.cfg.Only, p.name) {
			continue
		}
		if err := p.run(a, ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// whileLeading runs the parts in which this process leads.
func (a *account) whileLeading(ctx context.Context, r *Report) error {
	var err error
	var stop func()
	if a.gate, a.token, stop, err = lead(ctx, a.site.url, a.scope); err != nil {
		return err
	}
	defer stop()
	return a.some(ctx, r, pendingParts[:ledParts])
}

// throughput measures conch and the raw node in turn, with intents accepted in advance and with
// intents accepted meanwhile.
func (a *account) throughput(ctx context.Context, r *Report) error {
	many, rounds := a.cfg.amounts().intents, a.cfg.amounts().sendings
	a.cfg.Say("pending: %d rounds of %d transactions, queued, accepted meanwhile, and raw …", rounds, many)
	var queued, whole, raw, presigned, accepted, plain, commits, allowed []float64
	var ours, theirs efforts
	for i := range rounds {
		for half := range 2 {
			if half == i%2 { // ABBA: neither is always second
				perSecond, spent, err := a.rawly(ctx, many)
				if err != nil {
					return err
				}
				theirs.add(spent, many)
				ahead, err := a.payer.Presigned(ctx, many)
				if err != nil {
					return err
				}
				inserts, err := slice(ctx, a.load, pgraw.Style{Pipelined: true}, a.cfg.amounts().slice)
				if err != nil {
					return err
				}
				raw, presigned, plain = append(raw, perSecond), append(presigned, ahead), append(plain, inserts)
				continue
			}
			began := time.Now()
			if err := a.payer.Accept(ctx, many); err != nil {
				return err
			}
			accepted = append(accepted, perSecond(many, began))
			one, err := a.send(ctx, many, nil)
			if err != nil {
				return err
			}
			queued = append(queued, one.perSecond)
			ours.add(one.effort, many)
			commits, allowed = append(commits, one.commits), append(allowed, one.allowed)
			if one, err = a.send(ctx, many, a.payer.Accept); err != nil {
				return err
			}
			whole = append(whole, one.perSecond)
		}
	}
	r.beside("send_to_mined", median(queued), median(raw), "tx/s")
	r.beside("send_to_mined_presigned", median(queued), median(presigned), "tx/s")
	r.beside("submit_to_mined", median(whole), median(raw), "tx/s")
	r.beside("accept", median(accepted), median(plain), "tx/s")
	r.beside("commits", median(commits), median(allowed), "commits")
	ours.report(r, theirs)
	return nil
}

// rawly measures the ceiling, and the processor time that it takes.
func (a *account) rawly(ctx context.Context, many int) (perSecond float64, spent effort, err error) {
	before, err := a.effort(ctx)
	if err != nil {
		return 0, spent, err
	}
	if perSecond, err = a.payer.Raw(ctx, many); err != nil {
		return 0, spent, err
	}
	after, err := a.effort(ctx)
	return perSecond, after.since(before), err
}

type sent struct {
	perSecond, commits, allowed float64
	took                        time.Duration // see mined
	effort                      effort        // until all were mined
}

// send measures until many transactions are mined, accepted before or, if accept is not nil, by it from
// the beginning on. It returns once all are final.
func (a *account) send(ctx context.Context, many int, accept func(context.Context, int) error) (out sent, err error) {
	first, err := a.payer.Count(ctx, "latest")
	if err != nil {
		return out, err
	}
	before, err := a.site.admin.Commits(ctx)
	if err != nil {
		return out, err
	}
	idle, err := a.effort(ctx)
	if err != nil {
		return out, err
	}
	began := time.Now()
	sending, err := a.payer.Send(ctx, a.gate, a.token)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, sending.Stop()) }()
	if accept != nil {
		if err := accept(ctx, many); err != nil {
			return out, err
		}
	}
	if out.took, err = a.mined(ctx, began, first, many); err != nil {
		return out, err
	}
	out.perSecond = perSecond(many, began)
	busy, err := a.effort(ctx)
	if err != nil {
		return out, err
	}
	out.effort = busy.since(idle)
	if err := a.payer.Until(ctx, "finalized", first+uint64(many), payer.Pace); err != nil {
		return out, err
	}
	err = until(ctx, "what is final is stored as final", func() (bool, error) {
		open, err := a.payer.Unfinished(ctx)
		return open == 0, err
	})
	if err != nil {
		return out, err
	}
	after, err := a.site.admin.Commits(ctx)
	out.commits, out.allowed = float64(after-before), float64(many)/100+2*float64(sending.Heads())
	return out, err
}

func perSecond(many int, began time.Time) float64 { return float64(many) / time.Since(began).Seconds() }

// idle measures one intent until the node has answered for its bytes. The ceiling is one commit plus
// one request, each alone, in turn.
func (a *account) idle(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().singles
	a.cfg.Say("pending: %d times one intent at rest …", many)
	sending, err := a.payer.Send(ctx, a.gate, a.token)
	if err != nil {
		return err
	}
	var ours, raw []time.Duration
	for i := range many {
		took, err := sending.One(ctx)
		if err == nil {
			err = pause.For(ctx, phase(20*time.Millisecond, i))
		}
		if err != nil {
			return errors.Join(err, sending.Stop())
		}
		commit, err := a.load.One(ctx)
		if err != nil {
			return errors.Join(err, sending.Stop())
		}
		request, err := a.payer.RawOne(ctx)
		if err != nil {
			return errors.Join(err, sending.Stop())
		}
		if i > 0 { // the first one connects and prepares its statements
			ours, raw = append(ours, took), append(raw, commit+request)
		}
	}
	r.add("idle_samples", float64(len(ours)), "intents")
	r.spread("idle", ours, raw)
	return sending.Stop()
}

// history measures sending with a long history of finished transactions in the tables. The ceiling
// is the same without it, measured right before. Both are medians of a few runs.
func (a *account) history(ctx context.Context, r *Report) error {
	many, rows := a.cfg.amounts().intents, a.cfg.amounts().finished
	run := func() (float64, error) {
		var all []float64
		for range max(1, a.cfg.amounts().sendings-1) {
			if err := a.payer.Accept(ctx, many); err != nil {
				return 0, err
			}
			one, err := a.send(ctx, many, nil)
			if err != nil {
				return 0, err
			}
			all = append(all, one.perSecond)
		}
		return median(all), nil
	}
	a.cfg.Say("pending: the same without and with %d finished transactions …", rows)
	without, err := run()
	if err != nil {
		return err
	}
	if err := a.site.admin.Finish(ctx, rows); err != nil {
		return err
	}
	with, err := run()
	r.add("finished_rows", float64(rows), "rows")
	r.beside("send_with_finished_rows", with, without, "tx/s")
	return err
}
