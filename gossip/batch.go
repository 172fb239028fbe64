package gossip

import (
	"runtime"
	"slices"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/transport"
)

func arrives(e transport.Envelope) core.Input {
	return core.Arrived{Messages: []core.Message{message(e)}}
}

func message(e transport.Envelope) core.Message {
	return core.Message{Line: e.Subject, From: e.From, Body: e.Body}
}

// mostUnread is how many messages are read before the ends of connections at most.
const mostUnread = 2048

// arrange puts what has become of connections before the messages, which may be of one that has come up since the batch was taken, and both
// before the rest. If a connection has ended, all that waits to be read comes with that, as one input: the transport has said the last words
// on it before. Meanwhile another connection may come up, and something be read of it: so the transport is asked again after each reading,
// until there is much to be read: time does not pass meanwhile.
func (a *Agent) arrange(batch []core.Input) (all []core.Input) {
	var in core.Arrived
	var rest []core.Input
	for _, i := range batch {
		if one, is := i.(core.Arrived); is {
			in.Links, in.Messages = append(in.Links, one.Links...), append(in.Messages, one.Messages...)
		} else {
			rest = append(rest, i)
		}
	}
	in.Links = append(in.Links, a.cfg.Transport.Links()...)
	over := false
	for from := 0; slices.ContainsFunc(in.Links[from:], ended) && len(in.Messages) < mostUnread; {
		over, from, in.Messages = true, len(in.Links), append(in.Messages, a.unread()...)
		in.Links = append(in.Links, a.cfg.Transport.Links()...)
	}
	if in.Messages = a.ordered(in.Messages); over {
		return append([]core.Input{in}, rest...)
	}
	if len(in.Links) > 0 {
		all = append(all, core.Arrived{Links: in.Links})
	}
	for i := range in.Messages {
		all = append(all, core.Arrived{Messages: in.Messages[i : i+1]})
	}
	return append(all, rest...)
}

func ended(l transport.Link) bool { return !l.Up }

// ordered puts the words of electors first: they may wait behind one that floods, and a leader that is heard too late is deposed. The views
// go last. What one peer has said on one line stays in its order.
func (a *Agent) ordered(all []core.Message) []core.Message {
	if len(all) < 2 {
		return all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var electors, others, views []core.Message
	for _, m := range all {
		switch {
		case m.Line == core.LineOverlay:
			views = append(views, m)
		case a.core.IsElector(m.From):
			electors = append(electors, m)
		default:
			others = append(others, m)
		}
	}
	return slices.Concat(electors, others, views)
}

// unread returns what waits on the lines.
func (a *Agent) unread() (all []core.Message) {
	statements, views := a.statements.Inbox(), a.views.Inbox()
	for empty := 0; empty < 2 && len(all) < mostUnread; {
		select {
		case e := <-statements:
			all = append(all, message(e))
		case e := <-views:
			all = append(all, message(e))
		default:
			empty++
			runtime.Gosched() // the transport may be about to hand over the rest
		}
	}
	return all
}
