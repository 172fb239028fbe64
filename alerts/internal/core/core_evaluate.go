package core

import (
	"maps"
	"slices"
	"time"
)

// evaluated takes what the rules have given.
func (c *Core) evaluated(in Evaluated) {
	if !c.loaded || !c.evaluates || !in.At.Equal(c.at) {
		return
	}
	c.evaluates, c.ready = false, min(c.ready, c.now)
	c.look(in.Looked)
	c.restart()
	c.last.N++
	troubles, judged := map[string]Trouble{}, map[string]bool{}
	maps.Copy(judged, c.last.Judged)
	for _, r := range in.Results {
		judged[r.Rule] = judged[r.Rule] || !r.NoData && r.Fault == ""
		if t := (Trouble{Since: c.at, NoData: r.NoData, Fault: r.Fault}); r.NoData || r.Fault != "" {
			if before, is := c.last.Troubles[r.Rule]; is {
				t.Since = before.Since
			}
			troubles[r.Rule] = t
			continue
		}
		c.judge(r)
	}
	c.judge(Result{Rule: NoDataRule, Members: named("rule", c.unjudged(troubles, judged))})
	c.judge(Result{Rule: DifferRule, Members: named("node", c.differ)})
	c.endOrphans()
	for _, g := range c.groups {
		if c.owns(g) || len(c.differ) == 0 {
			c.renumber(g)
		}
	}
	c.last.At, c.last.Node, c.last.Troubles, c.last.Judged = c.at, c.cfg.Node, troubles, judged
	c.watch(in.Claims)
	done := c.last
	c.changes.Evaluation = &done
}

// abandoned is after how long without data a rule counts as one that never had any: what it is about was taken out of the cluster.
const abandoned = 24 * time.Hour

// unjudged lists the rules that somebody should look at: a rule that never had data is about something that the cluster has not.
func (c *Core) unjudged(troubles map[string]Trouble, judged map[string]bool) (names []string) {
	for name, t := range troubles {
		if t.Fault == "" && c.at.Sub(t.Since) >= abandoned {
			judged[name] = false
		}
		if t.Fault != "" || judged[name] {
			names = append(names, name)
		}
	}
	maps.DeleteFunc(judged, func(name string, once bool) bool {
		_, is := c.rules[name]
		return !once || !is && len(c.differ) == 0
	})
	slices.Sort(names)
	return names
}

// named makes a member of each name.
func named(label string, names []string) (all []Member) {
	for _, name := range names {
		all = append(all, Member{Labels: map[string]string{label: name}, Value: 1})
	}
	return all
}

// restart has what is pending begin anew if nobody has evaluated for long: nobody knows what was true meanwhile. What fires goes on.
func (c *Core) restart() {
	gap := c.at.Sub(c.last.At)
	if c.last.N == 0 || gap >= 0 && gap <= 2*c.cfg.Interval+c.cfg.Hold {
		return
	}
	for _, g := range c.groups {
		for _, m := range g.standing {
			if m.Fires.IsZero() {
				m.Since, m.dirty = c.at, true
			}
		}
	}
}

// judge has members of a rule become pending, fire and end.
func (c *Core) judge(r Result) {
	rule, is := c.rules[r.Rule]
	if !is {
		return
	}
	for _, one := range r.Members {
		g := c.groupOf(rule, one.Labels)
		id := hash(one.Labels)
		m := g.standing[id]
		if m == nil {
			m = &member{Standing: Standing{Key: g.Key, ID: id, Labels: one.Labels, Since: c.at}, dirty: true}
			g.standing[id] = m
		}
		m.Value, m.last, m.round = one.Value, c.at, c.last.N
		if m.Fires.IsZero() && c.at.Sub(m.Since) >= rule.For {
			m.Fires, m.dirty = c.at, true
		}
	}
	for _, g := range c.groups {
		if g.Rule != rule.Name || !c.owns(g) {
			continue
		}
		for _, m := range g.standing {
			if m.round != c.last.N && (m.Fires.IsZero() || c.at.Sub(m.last) >= rule.Keep) {
				c.end(g, m)
			}
		}
	}
}

func (c *Core) end(g *group, m *member) {
	delete(g.standing, m.ID)
	c.changes.Ended = append(c.changes.Ended, m.Standing)
}

// groupOf is the group of a member, which may be new.
func (c *Core) groupOf(r Rule, of map[string]string) *group {
	labels := map[string]string{}
	for _, name := range r.GroupBy {
		labels[name] = of[name]
	}
	key := Key(c.cfg.Cluster, r.Name, labels)
	g := c.groups[key]
	if g == nil {
		g = &group{Group: Group{Key: key, Rule: r.Name, Labels: labels}, standing: map[string]*member{}, tellings: map[string]*telling{}, dirty: true}
		c.groups[key] = g
	}
	return g
}

// endOrphans ends what is of a rule that no living node has, or has as it was. While their files differ it stays as it is.
func (c *Core) endOrphans() {
	if len(c.differ) > 0 {
		return
	}
	for _, g := range c.groups {
		if !c.owns(g) {
			for _, m := range g.standing {
				c.end(g, m)
			}
		}
	}
}

// renumber gives a group the next number if there is something to say: it begins or ends, has another member that fires, or a silence ends.
func (c *Core) renumber(g *group) {
	told, loud, fresh, silence := 0, 0, false, ""
	for _, m := range g.standing {
		if m.Fires.IsZero() {
			continue
		}
		by := c.mutedBy(g, m)
		if by == "" {
			loud++
			fresh = fresh || m.Seq == 0
			silence = max(silence, m.Muted)
		}
		if m.Seq > 0 {
			told++
		}
		m.dirty, m.Muted = m.dirty || by != m.Muted, by
	}
	hushed := g.muted
	g.muted = g.isMuted()
	switch {
	case g.Fires && told == 0 && loud == 0:
		c.bump(g, "")
		g.Fires, g.Until = false, c.at
		for _, t := range g.tellings { // what has begun and ended in a silence is told to nobody
			if hushed && t.Knows != Firing && !t.Doubt && !t.Asked {
				t.Told, t.dirty = g.Seq, true
			}
		}
	case loud > 0 && (!g.Fires || fresh || silence != ""):
		if !g.Fires {
			g.Since, g.Until, g.Fired, g.Count = c.at, time.Time{}, nil, 0
		}
		c.bump(g, silence)
		g.Fires = true
		for _, m := range g.loud() {
			if m.Seq == 0 {
				m.Seq, m.dirty = g.Seq, true
				if g.Count++; len(g.Fired) < mostNamed {
					g.Fired = append(g.Fired, m.firer())
				}
			}
		}
	}
}

// bump gives a group the next number, the time if that is higher: so it is above any that the group had before it was forgotten, and that of a node
// which has told of it without a leader.
func (c *Core) bump(g *group, silence string) {
	g.Seq = max(g.Seq+1, uint64(max(c.at.Unix(), 0)))
	g.Silence, g.dirty = silence, true
}

// loud lists what fires and is not silenced.
func (g *group) loud() (all []*member) {
	for _, id := range slices.Sorted(maps.Keys(g.standing)) {
		if m := g.standing[id]; !m.Fires.IsZero() && m.Muted == "" {
			all = append(all, m)
		}
	}
	return all
}

// isMuted reports whether something fires, and all of it is silenced.
func (g *group) isMuted() bool {
	fires := false
	for _, m := range g.standing {
		if !m.Fires.IsZero() {
			if fires = true; m.Muted == "" {
				return false
			}
		}
	}
	return fires
}
