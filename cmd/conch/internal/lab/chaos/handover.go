//go:build unix

package chaos

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
)

// briefAct is what an asker that asked for no certain life needs at least.
const briefAct = 20 * time.Millisecond

// needed is the part of a long answer that its asker needs.
const needed = 0.9

// handOver has one scope handed over in every orderly way, while strangers ask both
// daemons and act on what they say.
func handOver(ctx context.Context, n *nemesis, w *Wound) error {
	s, err := n.open(ctx, w, false)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	scope := s.scope("asked")
	life := longAnswer(n.cfg.Lease)
	for _, d := range s.daemons {
		if err := s.write(d, role{scope: scope}, s.idle(d)); err != nil {
			return err
		}
		if err := d.start(n.Cluster); err != nil {
			return err
		}
		for i := range 3 { // the last has long acts, and asks for them
			s.ask(scope, d, func(a *asker) {
				a.needs = briefAct
				if i == 2 {
					a.life, a.needs = life, time.Duration(needed*float64(life))
				}
			})
		}
	}
	led := func() bool { return s.leader(scope).epoch > 0 }
	if n.until(ctx, func() bool { return led() || !s.daemons[0].alive() && !s.daemons[1].alive() }); !led() {
		n.violate(ctx, w.Number, Recovers, "nobody led %q %s after its daemons were started%s", scope, n.cfg.patience(), s.words())
		return nil
	}
	s.due(scope)
	ways := []struct {
		what string
		do   func(context.Context, *site, string) error
	}{{"drain", drain}, {"transfer", transfer}, {"SIGTERM", restart}, {"reload", reload}}
	for i := range ways {
		way := ways[(i+w.Fault.Pick)%len(ways)]
		before := s.leader(scope).epoch
		do := func() error { return way.do(ctx, s, scope) }
		on, err := n.blow(ctx, w, Blow{What: way.what, Scopes: []string{scope}, Bound: clean}, do,
			func() bool { return s.leader(scope).epoch > before })
		if err != nil || !on {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.long == 0 {
		n.violate(ctx, w.Number, LongAnswer, "no answer lived for %s, though many asked for %s", time.Duration(needed*float64(life)), life)
	}
	return nil
}

// idle is a role beside, so that a daemon without the scope has something to lead.
func (s *site) idle(d *daemon) role { return role{scope: s.scope("idle-" + d.id)} }

// blow does something to leaders and waits until that is overcome, somewhat longer than is
// allowed. It tells whether it was. An order that is refused because the leader has changed
// meanwhile does no harm.
func (n *nemesis) blow(ctx context.Context, w *Wound, b Blow, do func() error, overcome func() bool) (bool, error) {
	b.At = fence.Boottime()
	n.view.status("%s: %s", w.Fault, b.What)
	done := make(chan error, 1)
	go func() { done <- do() }()
	patience := 2*spare + time.Duration(max(b.Bound.fenced, b.Bound.act)*float64(n.cfg.Lease))
	on := n.wait(ctx, time.Now().Add(patience), overcome)
	err := <-done
	b.Until = fence.Boottime()
	w.Blows = append(w.Blows, b)
	why := ""
	if refused, is := errors.AsType[*refusedError](err); is {
		why, err = ": "+refused.what, nil
	}
	if hangs, is := errors.AsType[*stuckError](err); is {
		n.violate(ctx, w.Number, Recovers, "%s", hangs.what)
		err = nil
	}
	if !on && err == nil {
		n.violate(ctx, w.Number, Recovers, "%s after the %s there was no other leader of %s%s", patience, b.What, cmp.Or(strings.Join(b.Scopes, ", "), Scope), why)
	}
	if ctx.Err() != nil {
		err = nil
	}
	return on, err
}

func drain(ctx context.Context, s *site, scope string) error {
	return s.n.obey(ctx, "drain", "--scope", scope)
}

func transfer(ctx context.Context, s *site, scope string) error {
	other, _ := s.other(s.leader(scope))
	return s.n.obey(ctx, "transfer", "--scope", scope, "--to", other.id)
}

// restart ends the daemon that leads, and starts it again once it has ended.
func restart(ctx context.Context, s *site, scope string) error {
	_, leader := s.other(s.leader(scope))
	if leader.end(orderPatience) {
		return &stuckError{leader.id + " has not ended " + orderPatience.String() + " after " + syscall.SIGTERM.String()}
	}
	return leader.start(s.n.Cluster)
}

// reload takes the scope out of the leader's configuration, and puts it back.
func reload(ctx context.Context, s *site, scope string) error {
	_, leader := s.other(s.leader(scope))
	all := []role{{scope: scope}, s.idle(leader)}
	for _, roles := range [][]role{all[1:], all} {
		if err := s.write(leader, roles...); err != nil {
			return err
		}
		if err := s.n.obey(ctx, "reload", "--config", leader.file()); err != nil {
			return err
		}
	}
	return nil
}

// obey gives an order and waits for its end.
func (n *nemesis) obey(ctx context.Context, words ...string) error {
	o, err := n.order(words...)
	if err != nil {
		return err
	}
	return o.finish(ctx)
}

// words is what a daemon said last, if any has said something.
func (s *site) words() string {
	i := slices.IndexFunc(s.daemons, func(d *daemon) bool { return d.process != nil && d.process.LastWords() != "" })
	if i < 0 {
		return ""
	}
	return "; " + s.daemons[i].id + " says: " + s.daemons[i].process.LastWords()
}
