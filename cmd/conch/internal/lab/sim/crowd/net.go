package crowd

import (
	"time"

	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/wire"
)

// send sends a message to each receiver.
func (r *run) send(n *node, a agent.Send) {
	if r.cfg.Break == ageTravels && a.Line == agent.LineGossip {
		a.Body = r.ageless(a.Body)
	}
	size, of := int64(len(a.Body)), agent.Message{Line: a.Line, From: n.name, Body: a.Body}
	var words []time.Duration
	if a.Line == agent.LineGossip {
		r.listens(n, a)
		words = n.told()
	}
	for _, name := range a.To {
		to := r.byName[name]
		if r.sent(n, size); a.Line == agent.LineSpray {
			r.Stats["overlay_bytes"] += size
		}
		r.carry(n, to, func() { to.takes(agent.Arrived{Messages: []agent.Message{of}}, words) })
	}
}

// ageless returns a parcel whose statements all look new.
func (r *run) ageless(body []byte) []byte {
	p, err := wire.Decode(body)
	for i := range p.Said {
		p.Said[i].Age = 0
	}
	if err == nil {
		body, err = wire.Encode(p)
	}
	r.Check(err == nil, WellFormed, "a node sends what nobody reads: %v", err)
	return body
}

// says has a node send a parcel, whatever its core thinks of it.
func (r *run) says(n *node, to string, said wire.Said) {
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{said}})
	if r.Check(err == nil, WellFormed, "%s sends what nobody reads: %v", n.name, err) {
		r.send(n, agent.Send{Line: agent.LineGossip, To: []string{to}, Body: body})
	}
}

// listens judges what a node says. In a large crowd that would take too long.
func (r *run) listens(n *node, a agent.Send) {
	if len(r.nodes) > 200 || r.cfg.Break != "" && n.says == nil {
		return
	}
	p, err := wire.Decode(a.Body)
	if !r.Check(err == nil, WellFormed, "%s sends what nobody reads: %v", n.name, err) {
		return
	}
	for i := range p.Said {
		if n.says != nil {
			n.says(p.Said[i])
		}
	}
	r.passes(n, len(a.To), &p)
}

// word is a heartbeat, as it is told from another one.
type word struct {
	subject               wire.Subject
	incarnation, sequence uint64
}

// passes judges what a node passes on. A heartbeat alone, for several peers, is no answer to one of them.
func (r *run) passes(n *node, to int, p *wire.Parcel) {
	if r.cfg.Break != "" || to < 2 || len(p.Said) != 1 {
		return
	}
	s := &p.Said[0]
	if s.Topic != "" || s.Subject == n.subject {
		return
	}
	key := word{s.Subject, s.Incarnation, s.Sequence}
	r.Check(!n.passed[key], PassedOnce, "%s passes word %d of %s on once more", n.name, s.Sequence, r.bySubject[s.Subject].name)
	n.passed[key] = true
}

// noise counts the messages of ten rounds at a time. Those of the second ten, when nothing has happened yet, are what a crowd says at rest.
type noise struct{ ten, said, rest int }

// loudest is how much more than at rest a crowd says, whatever happens to it and whoever says what. Half of that was measured.
const loudest = 3

// listen judges how many messages there are. A crowd that is too loud is told of more than once, so that a run without end has one.
func (r *run) listen() {
	if r.grows || r.cfg.Break != "" {
		return
	}
	c := &r.noise
	if ten := int(r.now() / (10 * round)); ten != c.ten {
		if c.ten == 1 {
			c.rest = c.said
		}
		c.ten, c.said = ten, 0
	}
	c.said++
	most := loudest*c.rest + 10*len(r.nodes)
	r.Check(c.rest == 0 || c.said%most > 0, NoStorm, "within ten rounds %d messages were sent, and %d at rest", c.said, c.rest)
}

func (r *run) sent(n *node, size int64) {
	if !n.begun { // nor has the crowd
		return
	}
	r.listen()
	r.Stats["messages"]++
	r.Stats["bytes"] += size
}

// delay is how long a message takes.
func (r *run) delay() time.Duration { return r.w.Between(round/50, round/5) }

// carry takes a message over the connection between two nodes, unless it is lost.
func (r *run) carry(n, to *node, arrive func()) {
	e := n.end(to)
	if e == nil || r.cut(n, to) {
		return
	}
	l, wait := e.link, r.delay()
	lost := func() bool { return r.w.Chance(float64(r.cfg.Loss) / 100) }
	switch {
	case r.cfg.Loss == 0 || r.grows:
	case r.cfg.Stalls:
		s, now := &l.streams[l.says(n)], r.w.Now()
		s.Loses(now, 2*round, 64*round, lost)
		wait = s.Arrives(now+wait) - now
	case lost():
		return
	}
	last := &l.last[l.says(n)]
	*last = max(*last, r.w.Now()+wait)
	r.w.After(wait, func() {
		if to.up && !r.cut(n, to) {
			if e := to.end(n); e != nil && e.link == l {
				to.does(arrive)
			}
		}
	})
}

// takes has a process take what arrives, which may say when electors have said what; or keeps it together with all else, while a process
// goes on that was frozen.
func (n *node) takes(in agent.Arrived, words []time.Duration) {
	if all := n.arrives; all != nil {
		all.Links, all.Messages = append(all.Links, in.Links...), append(all.Messages, in.Messages...)
		n.learned = append(n.learned, words)
		return
	}
	n.arrived(in, [][]time.Duration{words})
}

// arrived feeds the process. Statements that it throws away, since nobody knows how old they are, have told it nothing.
func (n *node) arrived(in agent.Arrived, words [][]time.Duration) {
	learns := n.r.cfg.Stalls && n.elector
	before := uint64(0)
	if learns {
		before = n.core.Counts().Undated
	}
	if n.step(in); learns && n.core.Counts().Undated == before {
		for _, w := range words {
			n.learns(w)
		}
	}
}

// cut reports whether nothing gets from one node to another.
func (r *run) cut(from, to *node) bool {
	return from.mute || to.deaf || from.side != to.side || r.oneWay[[2]*node{from, to}]
}
