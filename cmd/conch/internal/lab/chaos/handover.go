//go:build unix

package chaos

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
)

// briefAct is the lifetime that an asker needs if it requests none.
const briefAct = 20 * time.Millisecond

// needed is the share of a long answer's lifetime that its asker needs.
const needed = 0.9

// handOver hands one scope over in every orderly way, while callers ask both daemons and act on
// the answers.
func handOver(ctx context.Context, n *nemesis, in *Injection) error {
	p, err := n.openPair(ctx, in, false)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	scope := p.scope("asked")
	life := longAnswer(n.cfg.Lease)
	for _, d := range p.daemons {
		if err := p.write(d, role{scope: scope}, p.idle(d)); err != nil {
			return err
		}
		if err := d.start(n.Cluster); err != nil {
			return err
		}
		for i := range 3 { // the last one requests time for long acts
			p.ask(scope, d, func(a *asker) {
				a.needs = briefAct
				if i == 2 {
					a.life, a.needs = life, time.Duration(needed*float64(life))
				}
			})
		}
	}
	led := func() bool { return p.leader(scope).epoch > 0 }
	if n.until(ctx, func() bool { return led() || !p.daemons[0].alive() && !p.daemons[1].alive() }); !led() {
		n.violate(ctx, in.Number, Recovers, "nobody led %q %s after its daemons were started%s", scope, n.cfg.patience(), p.lastWords())
		return nil
	}
	p.expectLeader(scope)
	ways := []struct {
		what string
		do   func(context.Context, *daemonPair, string) error
	}{{"drain", drain}, {"transfer", transfer}, {"SIGTERM", restart}, {"reload", reload}}
	for i := range ways {
		way := ways[(i+in.Fault.Pick)%len(ways)]
		before := p.leader(scope).epoch
		do := func() error { return way.do(ctx, p, scope) }
		on, err := n.step(ctx, in, Step{What: way.what, Scopes: []string{scope}, Bound: clean}, do,
			func() bool { return p.leader(scope).epoch > before })
		if err != nil || !on {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.long == 0 {
		n.violate(ctx, in.Number, LongAnswer, "no answer lived for %s, though many asked for %s", time.Duration(needed*float64(life)), life)
	}
	return nil
}

// idle returns another role for a daemon, so that it leads something without the scope.
func (p *daemonPair) idle(d *daemon) role { return role{scope: p.scope("idle-" + d.id)} }

// step does something to leaders and waits until a new leader overcomes it, for somewhat longer
// than the bound. It reports whether one did. An order that is refused because the leader has
// changed meanwhile does no harm. On a busy machine the command that gives the order takes its
// time, so the wait counts from the command's end; how long nobody led is judged by the records.
func (n *nemesis) step(ctx context.Context, in *Injection, b Step, do func() error, overcome func() bool) (bool, error) {
	b.At = fence.Boottime()
	n.screen.Status("%s: %s", in.Fault, b.What)
	done := make(chan error, 1)
	go func() { done <- do() }()
	patience := 2*spare + time.Duration(max(b.Bound.fenced, b.Bound.act)*float64(n.cfg.Lease))
	n.wait(ctx, time.Now().Add(orderPatience), func() bool { return overcome() || len(done) > 0 })
	on := n.wait(ctx, time.Now().Add(patience), overcome)
	err := <-done
	b.Until = fence.Boottime()
	in.Steps = append(in.Steps, b)
	why := ""
	if refused, is := errors.AsType[*refusedError](err); is {
		why, err = ": "+refused.what, nil
	}
	if hangs, is := errors.AsType[*stuckError](err); is {
		n.violate(ctx, in.Number, Recovers, "%s", hangs.what)
		err = nil
	}
	if !on && err == nil {
		n.violate(ctx, in.Number, Recovers, "%s after the %s there was no other leader of %s%s", patience, b.What, cmp.Or(strings.Join(b.Scopes, ", "), Scope), why)
	}
	if ctx.Err() != nil {
		err = nil
	}
	return on, err
}

func drain(ctx context.Context, p *daemonPair, scope string) error {
	return p.n.obey(ctx, "drain", "--scope", scope)
}

func transfer(ctx context.Context, p *daemonPair, scope string) error {
	other, _ := p.other(p.leader(scope))
	return p.n.obey(ctx, "transfer", "--scope", scope, "--to", other.id)
}

// restart ends the daemon that leads, and then starts it again.
func restart(ctx context.Context, p *daemonPair, scope string) error {
	_, leader := p.other(p.leader(scope))
	if leader.end(orderPatience) {
		return &stuckError{leader.id + " has not ended " + orderPatience.String() + " after " + syscall.SIGTERM.String()}
	}
	return leader.start(p.n.Cluster)
}

// reload removes the scope from the leader's configuration and puts it back.
func reload(ctx context.Context, p *daemonPair, scope string) error {
	_, leader := p.other(p.leader(scope))
	all := []role{{scope: scope}, p.idle(leader)}
	for _, roles := range [][]role{all[1:], all} {
		if err := p.write(leader, roles...); err != nil {
			return err
		}
		if err := p.n.obey(ctx, "reload", "--config", leader.file()); err != nil {
			return err
		}
	}
	return nil
}

func (p *daemonPair) lastWords() string {
	for _, d := range p.daemons {
		if text := d.process.Said(d.id); text != "" {
			return text
		}
	}
	return ""
}
