package firehouse

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/internal/world/story"
)

func (r *run) tells(who, text string, args ...any) {
	r.Tell(r.W.Now(), who, fmt.Sprintf(text, args...))
}

// flip has a condition become true, or false.
func (r *run) flip() {
	c := r.conditions[r.W.Pick(len(r.conditions))]
	r.set(c, !c.is)
}

func (r *run) set(c *condition, is bool) {
	r.tells("world", "%s %s", c.name, map[bool]string{true: "begins", false: "ends"}[is])
	c.is, c.since = is, r.W.Now()
}

// noData has a rule select nothing for a while.
func (r *run) noData() {
	rule := []string{disk, queue, extra}[r.W.Pick(3)]
	r.hide(rule, true)
	r.Later(r.W.Between(0, 20*time.Minute), func() { r.hide(rule, false) })
}

func (r *run) hide(rule string, is bool) {
	told := false
	for _, c := range r.conditions {
		if c.rule == rule && c.hidden != is {
			if c.hidden, c.shown = is, r.W.Now(); !told {
				r.tells("world", "%s has %s", rule, map[bool]string{true: "no data", false: "data again"}[is])
			}
			told = true
		}
	}
}

// silence has a user set a silence, and perhaps end it early.
func (r *run) silence() {
	if r.Away {
		return
	}
	m := []core.Matcher{
		{Label: "alertname", Op: "=", Value: disk}, {Label: "host", Op: "=~", Value: "a|b"}, {Label: "scope", Op: "!=", Value: ""}, {Label: "severity", Op: "=", Value: "page"},
	}[r.W.Pick(4)]
	id := fmt.Sprint("silence-", r.W.Steps())
	lasts := r.W.Between(time.Minute, 20*time.Minute)
	r.tables.Silence(core.Silence{ID: id, Matchers: []core.Matcher{m}, Since: r.Clock(), Until: r.Clock().Add(lasts)})
	r.mute("%s is silenced for %s", m.Value, lasts.Round(time.Second))
	r.Later(lasts, func() { r.mute("the silence of %s is over", m.Value) })
	if r.W.Chance(0.3) {
		r.Later(r.W.Between(0, lasts), func() {
			if !r.Away && r.tables.Unsilence(id, r.Clock()) {
				r.mute("the silence of %s is ended", m.Value)
			}
		})
	}
}

func (r *run) mute(text string, args ...any) {
	r.Stats["silences"]++
	r.silenced = r.W.Now()
	r.tells("world", text, args...)
}

// stall has the leader stand still for longer than a takeover takes: now, or when it is about to send.
func (r *run) stall() {
	if r.ambush = r.W.Chance(0.5); r.First != nil && !r.ambush {
		r.halt(r.nodes[r.First.Index], r.W.Between(lease, 4*time.Minute))
	}
}

func (r *run) halt(n *node, lasts time.Duration) {
	if !n.Runs() || n.Stands() {
		return
	}
	_ = n.Freeze()
	life := n.Life
	r.Later(lasts, func() {
		if n.Life == life && n.Stands() {
			n.Thaw()
		}
	})
}

// springs has the leader stand still if that waits for it to send, and what it is about to say be over meanwhile.
func (r *run) springs(n *node, all []core.Message) {
	if !r.ambush || len(all) == 0 || r.Calm {
		return
	}
	r.ambush = false
	r.halt(n, r.W.Between(lease, 10*time.Minute))
	r.Later(r.W.Between(lease, 3*time.Minute), func() {
		for _, c := range r.conditions {
			if c.key == all[0].Key && c.is {
				r.set(c, false)
			}
		}
	})
}

// bounce has begin again what a message says is over, while that is on its way for long.
func (r *run) bounce(m core.Message, takes time.Duration) {
	if m.Status != core.Resolved || takes < lease || r.Calm || r.cfg.Telling.On() {
		return
	}
	r.Later(r.W.Between(0, 10*time.Second), func() {
		for _, c := range r.conditions {
			if c.key == m.Key && !c.is {
				r.set(c, true)
				return
			}
		}
	})
}

// longCut cuts a node off from the database for more than an hour. It says so again and again.
func (r *run) longCut() {
	if !r.W.Chance(0.2) {
		return
	}
	n := r.nodes[r.W.Pick(len(r.nodes))]
	life, began := n.Life, r.W.Now()
	link := story.Link{Nodes: []string{n.Name}}
	_ = r.Cut(link)
	r.Later(100*time.Minute, func() {
		if n.Runs() && n.Life == life && n.reached < began+time.Second && !n.stood(began) {
			r.Stats["long_cuts"]++
			r.Check(r.W.Now()-r.cutTold[n.Name] < 65*time.Minute, Cut, "%s cannot ask the database since %s, and has said so at %s", n.Name, began, r.cutTold[n.Name])
		}
		_ = r.Heal(link)
	})
}
