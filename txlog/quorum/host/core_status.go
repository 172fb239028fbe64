package host

// Status returns what the machines know.
func (c *Core) Status() Status {
	s := Status{
		Log: c.copy.Position().Log, Position: c.copy.Position(), Store: c.store, Members: c.members, MembersAt: c.told, Decides: c.q != nil && c.mine(), Leads: c.leads,
		Leader: c.leader, Term: c.term, Copy: c.f.Snapshot(), Goals: c.c.Status(),
	}
	for _, m := range c.members {
		if c.isRenewed(m) {
			s.Renewed = append(s.Renewed, m.Name)
		}
	}
	if c.q != nil {
		m, q := c.m.Status(), c.q.Snapshot()
		s.Member, s.Quorum = &m, &q
	}
	return s
}
