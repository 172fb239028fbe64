package agent

import (
	"runtime"
	"slices"

	"github.com/conchhq/conch/transport"
)

// mostUnread is how many messages of a line are read before the ends of connections at most.
const mostUnread = 1024

// changed takes what has become of connections. An end comes after the last words on that connection: the transport has said both, and
// a goodbye that is read after the end would make a node that has left look like one that is lost, and is to be looked for. Meanwhile
// another connection may come up, and something be read of it: so the transport is asked again after each reading, until there is much to
// be read: time does not pass meanwhile.
func (c *core) changed() {
	var statements, views []transport.Envelope
	for ended := true; ended && len(statements)+len(views) < mostUnread; {
		links := c.cfg.Transport.Links()
		if ended = slices.ContainsFunc(links, func(l transport.Link) bool { return !l.Up }); ended {
			statements, views = append(statements, unread(c.gossipLine)...), append(views, unread(c.sprayLine)...)
		}
		c.happened = append(c.happened, links...)
	}
	for len(c.happened) > 0 {
		l := c.happened[0]
		if c.happened = c.happened[1:]; !l.Up {
			last := func(e transport.Envelope) bool { return e.From == l.Peer }
			statements, views = c.hears(statements, views, last)
		}
		c.linked(l)
	}
	c.hears(statements, views, func(transport.Envelope) bool { return true })
	c.tellArcs()
}

// hears reads those messages that are chosen, and returns the others.
func (c *core) hears(statements, views []transport.Envelope, is func(transport.Envelope) bool) (_, _ []transport.Envelope) {
	if len(statements)+len(views) == 0 {
		return nil, nil
	}
	c.tellArcs() // of a connection that has come up before the one that ended
	later := func(all []transport.Envelope, read func(transport.Envelope)) (others []transport.Envelope) {
		for _, e := range all {
			if is(e) {
				read(e)
			} else {
				others = append(others, e)
			}
		}
		return others
	}
	statements = later(statements, c.heard)
	return statements, later(views, c.met)
}

// unread returns what waits on a line.
func unread(line transport.Line) (all []transport.Envelope) {
	if line == nil {
		return nil
	}
	for empty := 0; empty < 2 && len(all) < mostUnread; {
		select {
		case e := <-line.Inbox():
			all = append(all, e)
		default:
			empty++
			runtime.Gosched() // the transport may be about to hand over the rest
		}
	}
	return all
}
