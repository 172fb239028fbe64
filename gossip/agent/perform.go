package agent

import (
	"runtime"
	"slices"

	"github.com/conchhq/conch/transport"
)

// do feeds the core, after what has become of connections.
func (a *Agent) do(in Input) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrives(a.changes())
	_ = a.step(in)
}

// take feeds the core with messages. Connections come with whatever else happens: a message may be of one that has just come up.
func (a *Agent) take(messages ...Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	links, unread := a.changes()
	a.arrives(links, append(messages, unread...))
}

// takeOne feeds the core with the first message of an elector, or else with the first one, and returns the others. If a connection has ended it
// takes all: some may be the last words on it.
func (a *Agent) takeOne(held []Message) (others []Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	links, unread := a.changes()
	if slices.ContainsFunc(links, ended) {
		a.arrives(links, append(held, unread...))
		return nil
	}
	at := max(0, slices.IndexFunc(held, func(m Message) bool { return a.core.isElector(m.From) }))
	a.arrives(links, held[at:at+1])
	return slices.Delete(held, at, at+1)
}

// tell is a user's call.
func (a *Agent) tell(in Input) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.step(in)
}

func (a *Agent) arrives(links []transport.Link, messages []Message) {
	if len(links)+len(messages) > 0 {
		_ = a.step(Arrived{Links: links, Messages: messages})
	}
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

// mostUnread is how many messages are read before the ends of connections at most.
const mostUnread = 2048

// changes returns what has become of connections and, if one has ended, what waits to be read: the transport has said the last words on it
// before. Meanwhile another connection may come up, and something be read of it: so the transport is asked again after each reading, until
// there is much to be read: time does not pass meanwhile.
func (a *Agent) changes() (links []transport.Link, unread []Message) {
	for more := true; more && len(unread) < mostUnread; {
		now := a.cfg.Transport.Links()
		if more = slices.ContainsFunc(now, ended); more {
			unread = append(unread, a.unread()...)
		}
		links = append(links, now...)
	}
	return links, unread
}

func ended(l transport.Link) bool { return !l.Up }

// unread returns what waits on the lines.
func (a *Agent) unread() (all []Message) {
	if a.statements == nil {
		return nil
	}
	statements, views := a.statements.Inbox(), a.views.Inbox()
	for empty := 0; empty < 2 && len(all) < mostUnread; {
		select {
		case e := <-statements:
			all = append(all, message(LineGossip, e))
		case e := <-views:
			all = append(all, message(LineSpray, e))
		default:
			empty++
			runtime.Gosched() // the transport may be about to hand over the rest
		}
	}
	return all
}

func message(line string, e transport.Envelope) Message {
	return Message{Line: line, From: e.From, Body: e.Body}
}
