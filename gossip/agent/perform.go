package agent

// do feeds the core. The error says why nothing was published.
func (a *Agent) do(in Input) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.step(in)
}

// step feeds the core, and does what it asks for. The error says why nothing was published.
func (a *Agent) step(in Input) error { return a.perform(a.core.Step(a.cfg.Clock(), in)) }

// perform does what the core asks for.
func (a *Agent) perform(acts []Act) (err error) {
	for _, act := range acts {
		switch act := act.(type) {
		case Connect:
			a.cfg.Transport.Connect(act.Name, act.Address)
		case Disconnect:
			a.cfg.Transport.Disconnect(act.Name)
		case Send:
			a.send(act)
		case Unpublished:
			err = act.Why
		case Tell:
			a.mail.put(act.Event)
		}
	}
	return err
}

// send hands a message to the transport. It may be lost.
func (a *Agent) send(s Send) {
	line := a.statements
	if s.Line == LineSpray {
		line = a.views
	}
	if line == nil {
		return
	}
	for _, to := range s.To {
		if err := line.Send(to, s.Body); err != nil {
			a.counts.Unsent++
			continue
		}
		a.counts.MessagesSent++
		a.counts.BytesSent += uint64(len(s.Body))
	}
}

// count adds what the core does not know.
func (a *Agent) count(c *Counts) {
	c.MessagesSent, c.BytesSent = a.counts.MessagesSent, a.counts.BytesSent
	c.Unsent += a.counts.Unsent
	c.Dropped = a.counts.Dropped
	if a.statements != nil {
		c.Dropped = a.statements.Dropped() + a.views.Dropped()
	}
}
