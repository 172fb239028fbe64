package firehouse

import (
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
)

// sends sends a message of the leader.
func (r *run) sends(n *node, to string, m core.Message, answer func(core.Answer)) {
	r.sent(n, m)
	switch {
	case r.cfg.Break == ruleKey:
		m.Key += "/" + n.Name
	case r.cfg.Break == ruleAlone && m.Rule == core.AwayRule:
		answer(core.Taken)
		return
	}
	r.deliver(n, to, m, answer)
}

// cries sends a message of a node that watches.
func (r *run) cries(n *node, to string, m core.Message, answer func(core.Answer)) {
	r.Stats["cries"]++
	n.Tells("tells %s of %s", to, m.Rule)
	if m.Rule == core.AwayRule {
		r.Check(r.W.Now()-n.reached > 25*time.Second, False, "%s says that it cannot ask the database, and has done so at %s", n.Name, n.reached)
	} else {
		since := r.W.Now() - r.resumed // it may not have heard so yet
		r.Check(since < margin || r.W.Now()-r.evaluated > 2*lease, False, "%s says that nobody evaluates, and somebody has at %s", n.Name, r.evaluated)
	}
	if r.cfg.Break == ruleOneKey {
		m.Key += "/" + n.Name
	}
	if r.cfg.Break == ruleHourly && n.cried {
		n.After(time.Millisecond, func() { answer(core.Taken) })
		return
	}
	n.cried = n.cried || to == pager
	r.deliver(n, to, m, answer)
}

// recovers notes that a node reaches the database.
func (r *run) recovers(n *node, cries uint64) {
	if r.cfg.Break == ruleAlone && n.cried {
		for _, one := range receivers {
			r.deliver(n, one.Name, core.Message{Key: core.Key("c", core.AwayRule, nil), Rule: core.AwayRule, Status: core.Resolved}, func(core.Answer) {})
		}
	}
	n.cried = n.cried && cries == 0
}

// deliver brings a message to a receiver, or not, and its answer back. What has left arrives though its sender dies.
func (r *run) deliver(n *node, to string, m core.Message, answer func(core.Answer)) {
	back := func(d time.Duration, a core.Answer) {
		if a == core.Doubted && r.cfg.Break == ruleDoubt {
			a = core.Taken
		}
		to := answer
		n.After(d, func() { to(a) })
	}
	takes := r.W.Between(0, time.Second)
	switch pick := r.W.Pick(20); {
	case r.delay > 0 && to == pager:
		takes, r.delay = r.delay, 0
	case r.Calm || r.cfg.Telling.On():
		takes = r.W.Between(0, 100*time.Millisecond)
	case pick == 0:
		back(takes, core.Failed)
		return
	case pick == 1:
		back(takes, core.Refused)
		return
	case pick == 2:
		back(core.Timeout, core.Doubted)
		return
	case pick < 6:
		takes = r.W.Between(0, 59*time.Second)
	}
	r.bounce(m, takes)
	if r.cfg.Break == ruleOrder {
		back(time.Millisecond, core.Taken)
		answer = func(core.Answer) {}
	}
	lost := !r.Calm && !r.cfg.Telling.On() && r.W.Chance(0.03) // the answer is
	if takes >= core.Timeout || lost {
		back(core.Timeout, core.Doubted)
		answer = func(core.Answer) {}
	}
	r.W.After(takes, func() {
		r.arrived(n, to, m)
		if takes < core.Timeout && !lost {
			back(r.W.Between(0, 20*time.Millisecond), core.Taken)
		}
	})
}
