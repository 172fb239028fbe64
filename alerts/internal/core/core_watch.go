package core

import "time"

// watch resolves what nodes have told without a leader: that they cannot ask the database, and that nobody evaluates. Nobody else does, since the
// node that has told it may die, and another one that recovers knows nothing of it.
func (c *Core) watch(claims uint64) {
	e := &c.last
	seen, buried, settled := map[string]Node{}, map[string]time.Time{}, true
	for name, n := range c.nodes {
		before, known := e.Seen[name]
		at, dead := e.Buried[name]
		if dead = dead && before == n.Node; !dead && c.now-n.moved >= gone {
			at, dead = c.at, true
		}
		if seen[name] = n.Node; dead {
			buried[name] = at
		}
		if before.Life != n.Life {
			before.Cries = 0
		}
		silent := !dead && !c.isFresh(n)
		e.Cried = e.Cried || n.Cries > before.Cries
		e.Perhaps = e.Perhaps || n.Cries > before.Cries || known && before.Life != n.Life || silent
		settled = settled && (dead || n.lives && !silent)
	}
	c.remember(seen, buried)
	if e.Seen, e.Buried = seen, buried; e.Perhaps && settled {
		c.closes(AwayRule, e.Cried)
		e.Perhaps, e.Cried = false, false
	}
	if claims != e.Claims {
		e.Claims = claims
		c.closes(IdleRule, true)
	}
}

// remember keeps what was seen of nodes that have left no row: one that comes back may have told something meanwhile.
func (c *Core) remember(seen map[string]Node, buried map[string]time.Time) {
	for name, before := range c.last.Seen {
		if _, is := seen[name]; is {
			continue
		}
		at, dead := c.last.Buried[name]
		if !dead {
			at, c.last.Perhaps = c.at, true
		}
		if c.at.Sub(at) < remembered {
			seen[name], buried[name] = before, at
		}
	}
}

// closes says that what a node has told, perhaps, is over: now, and once more when no message of that node can arrive any more. Texts are told only if
// they were told of it for certain.
func (c *Core) closes(rule string, told bool) {
	r, is := c.rules[rule]
	if !is {
		return
	}
	g := c.groupOf(r, nil)
	c.bump(g, "")
	g.Fires, g.Until = false, c.at
	if c.enlist(g); g.Since.IsZero() {
		g.Since = c.at
	}
	for _, t := range g.tellings {
		t.dirty = true
		switch kind := c.receivers[t.Receiver].Kind; {
		case kind == Keyed:
			t.Told, t.Doubt, t.since, t.At = min(t.Told, g.Seq-1), true, c.now, time.Time{}
		case kind == Text && told:
			t.Told, t.Knows, t.At = min(t.Told, g.Seq-1), Firing, time.Time{}
		default: // of what nobody says again it knows nothing any more
			t.Told = g.Seq
		}
	}
}
