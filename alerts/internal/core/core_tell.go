package core

import (
	"maps"
	"slices"
	"time"
)

// mostTries is how often a text is said at most when nobody knows whether it has arrived.
const mostTries = 2

// plan sends what is to be said, one message a receiver at a time. That it is sent is recorded before.
func (c *Core) plan() {
	for _, g := range c.order() {
		c.enlist(g)
		for _, name := range slices.Sorted(maps.Keys(g.tellings)) {
			t := g.tellings[name]
			c.hush(g, t)
			if status, at, is := c.says(g, t); is && at <= c.now && c.flying[name] == nil {
				c.send(g, t, status)
			}
		}
		c.sweep(g)
	}
}

// enlist gives a group a telling for each receiver of its rule.
func (c *Core) enlist(g *group) {
	if !c.owns(g) {
		return
	}
	for _, name := range c.rules[g.Rule].Notify {
		if _, known := c.receivers[name]; known && g.tellings[name] == nil {
			t := &telling{Telling: Telling{Key: g.Key, Receiver: name}}
			if g.tellings[name], t.dirty = t, g.Fires; !g.Fires { // what is over is no news to a receiver that is new
				t.Told = g.Seq
			}
		}
	}
}

// hush notes that a receiver need not be told: nothing fires any more, and it does not know that anything has. A text is told all the same, in one line.
func (c *Core) hush(g *group, t *telling) {
	if t.Told < g.Seq && !g.Fires && !t.Asked && !t.Doubt && t.Knows != Firing && c.receivers[t.Receiver].Kind != Text {
		t.Told, t.dirty = g.Seq, true
	}
}

// says is what a receiver is to be told of a group, and when; false: nothing.
func (c *Core) says(g *group, t *telling) (what Status, at time.Duration, is bool) {
	r, known := c.receivers[t.Receiver]
	if !known || t.Asked || !c.owns(g) && len(c.differ) > 0 || g.Fires && g.muted {
		return 0, 0, false
	}
	what = Resolved
	if g.Fires {
		what = Firing
	}
	listed := slices.Contains(c.rules[g.Rule].Notify, t.Receiver)
	switch soon := c.after(t.At, groupInterval); {
	case g.Fires && !listed, !listed && len(c.differ) > 0:
		return 0, 0, false
	case t.Told < g.Seq && g.Fires && t.Knows == Firing && g.Silence == "" && r.Kind != Level:
		at = soon
	case t.Told < g.Seq && g.Fires:
	case t.Told < g.Seq && r.Kind == Level && t.Knows == Firing:
	case t.Told < g.Seq && (t.Knows == Firing || t.Doubt):
		at = soon
	case t.Told < g.Seq && r.Kind == Text:
		what = Passed
	case t.Doubt:
		at = t.since + late
	case g.Fires && r.Kind == Level:
		at = c.after(t.At, resend)
	default:
		return 0, 0, false
	}
	return what, max(at, t.pause, c.ready), true
}

// after is the instant of this process's clock that is so long after one of the database's.
func (c *Core) after(at time.Time, d time.Duration) time.Duration {
	if at.IsZero() {
		return 0
	}
	return c.boot + at.Sub(c.base) + d
}

// send sends the newest message of a group.
func (c *Core) send(g *group, t *telling, status Status) {
	kind := c.receivers[t.Receiver].Kind
	if t.Seq != g.Seq || t.Message.Status != status || kind == Level {
		t.Message, t.Tries = c.message(g, status), 0
		if kind == Text {
			t.Doubt = false // what is newer takes the place of what was in doubt
		}
	}
	t.Seq, t.Asked, t.dirty = g.Seq, true, true
	t.Tries++
	c.flying[t.Receiver] = &flight{key: g.Key, seq: t.Seq, status: status, sent: c.now}
	c.out.Sends, c.out.To = append(c.out.Sends, t.Message), append(c.out.To, t.Receiver)
}

// message makes the message of a group.
func (c *Core) message(g *group, status Status) Message {
	m := Message{
		Key: g.Key, Seq: g.Seq, Rule: g.Rule, Severity: c.rules[g.Rule].Severity, Status: status, Group: g.Labels,
		Since: g.Since, Until: g.Until, Members: g.Fired, Others: g.Count - len(g.Fired),
	}
	if status != Firing {
		return m
	}
	m.Silence, m.Members, m.Others = g.Silence, nil, 0
	for _, one := range g.loud() {
		if len(m.Members) < mostNamed {
			m.Members = append(m.Members, one.firer())
		} else {
			m.Others++
		}
	}
	return m
}

func (m *member) firer() Firer { return Firer{Labels: m.Labels, Value: m.Value, Since: m.Fires} }

// answered takes the answer of a receiver.
func (c *Core) answered(in Answered) {
	f := c.flying[in.Receiver]
	if f == nil {
		return
	}
	delete(c.flying, in.Receiver)
	c.answers[spot{in.Receiver, f.key}] = answer{in.Answer, f.seq}
	g := c.groups[f.key]
	if !c.loaded || g == nil {
		return
	}
	if t := g.tellings[in.Receiver]; t != nil && t.Asked && t.Seq == f.seq {
		c.settle(g, t, in.Answer, f.status, f.sent >= t.since+late)
	}
}

// settle notes the answer of a message. Repeated: no older one can still arrive after it.
func (c *Core) settle(g *group, t *telling, a Answer, status Status, repeated bool) {
	kind := c.receivers[t.Receiver].Kind
	t.Asked, t.dirty = false, true
	switch a {
	case Taken:
		t.Told, t.Knows, t.At, t.fails, t.pause = t.Seq, status, c.wall(), 0, 0
		if t.Doubt = t.Doubt && !repeated && kind == Keyed; status == Passed {
			t.Knows = Resolved
		}
		c.tell(Told{t.Receiver, t.Message})
	case Doubted:
		t.Told = t.Seq
		if t.Doubt, t.since = kind != Level, c.now; kind == Text && t.Tries >= mostTries {
			c.giveUp(t, a)
			return
		}
		if kind == Level {
			t.Told, t.pause = t.Seq-1, c.now+firstPause
		}
		c.tell(NotTold{Receiver: t.Receiver, Message: t.Message, Answer: a})
	case Failed, Refused:
		t.Tries--
		t.pause = c.now + mended
		if a == Failed {
			t.pause = c.now + min(firstPause<<min(t.fails, 6), mostPause)
			t.fails++
		}
		c.tell(NotTold{Receiver: t.Receiver, Message: t.Message, Answer: a})
	}
	c.hush(g, t)
}

// giveUp says a text no more that may have come twice.
func (c *Core) giveUp(t *telling, a Answer) {
	t.Told, t.Knows, t.Doubt, t.dirty = t.Seq, t.Message.Status, false, true
	c.tell(NotTold{Receiver: t.Receiver, Message: t.Message, Answer: a, GivenUp: true})
}

// sweep deletes a group of which there is nothing to say any more: at once if it never fired, else when nobody remembers it. Until then its number only
// rises.
func (c *Core) sweep(g *group) {
	if len(g.standing) > 0 || g.Fires || g.Seq > 0 && c.wall().Sub(g.Until) <= forgotten {
		return
	}
	for _, t := range g.tellings {
		if _, known := c.receivers[t.Receiver]; known && (t.Asked || t.Doubt || t.Told < g.Seq) {
			return
		}
	}
	delete(c.groups, g.Key)
	c.changes.Gone = append(c.changes.Gone, g.Key)
}
