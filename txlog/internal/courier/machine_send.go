package courier

// choose returns the node to ask: the leader, or one member after the other. Each knows who leads, or waits until somebody does.
func (m *Machine) choose(g *goal) string {
	if m.leader != "" && m.leader != g.avoid {
		return m.leader
	}
	for range m.members {
		g.turn++
		if name := m.members[g.turn%len(m.members)]; name != g.avoid {
			return name
		}
	}
	return g.avoid
}

// send gives a goal to somebody. It may be sent a second time, to the same one too: it is executed once.
func (m *Machine) send(g *goal) {
	to := m.choose(g)
	g.avoid = ""
	if to == "" {
		m.later(g, "")
		return
	}
	g.sends++
	g.to, g.open, g.try = to, true, m.tries.begin(g, to)
	m.do(Send{Try: g.try, To: to, Goal: g.Goal})
}

// later sends a goal again after a growing pause.
func (m *Machine) later(g *goal, avoid string) {
	g.open, g.avoid = false, avoid
	g.pause = min(max(2*g.pause, firstPause), 20*firstPause)
	g.retry = m.now + g.pause
}

// follow takes that another member leads: what waits is sent to it at once, with a new timeout (B12), within its expiry. It may
// be this node itself, which executes then (B11).
func (m *Machine) follow(leader string) {
	from := m.leader
	if leader == from {
		return
	}
	m.leader = leader
	for _, g := range m.order {
		m.do(Changed{GoalID: g.ID, From: from, To: leader}) // B10
		m.ask = true
		if leader == "" {
			continue
		}
		g.timeout, g.pause, g.avoid = m.now+m.cfg.Timeout, 0, ""
		if g.to != leader || !g.open {
			m.send(g)
		}
	}
}

// redirect takes a member's word that another one leads. Two that name each other change this node's mind once in a pause.
func (m *Machine) redirect(g *goal, leader string, term uint64) {
	newer := term > m.term
	if newer || m.leader == "" || term == m.term && m.leader == g.to && m.now >= m.turned+firstPause {
		m.term, m.turned = max(m.term, term), m.now
		m.later(g, "")
		m.follow(leader)
		return
	}
	// That one is believed to lead, and may have been asked without an answer.
	if m.later(g, ""); leader == m.leader && g.pause <= firstPause {
		m.send(g)
	}
}
