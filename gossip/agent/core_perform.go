package agent

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
)

// arrange does what the machine that connects asks for.
func (c *Core) arrange(a spray.Action) {
	switch a := a.(type) {
	case spray.Connect:
		c.connect(a.Peer)
	case spray.Disconnect:
		if c.leaving < 2 {
			c.disconnect(a.Peer)
		}
	case spray.Send:
		if body, err := spraywire.Encode(a.Message); err == nil {
			c.do(Send{Line: LineSpray, To: []string{a.To}, Body: body})
		} else {
			c.counts.Unsent++
		}
	case spray.Gained:
		c.neighbours[a.Peer], c.stale = true, true
	case spray.Lost:
		delete(c.neighbours, a.Peer)
		c.stale = true
	case spray.Refused:
		c.counts.Refused[overlayReasons[a.Why]]++
		c.tell(Refused{From: a.From, Subject: c.node(c.subjectOf(a.From)), Why: refusal(a.Why), Reason: overlayReasons[a.Why]})
	}
}

// refusal is a reason of the overlay as an error.
type refusal spray.Why

func (r refusal) Error() string { return string(r) }

// perform does what the machine that suggests asks for.
func (c *Core) perform(a gossip.Action) {
	switch a := a.(type) {
	case gossip.Send:
		if body, err := wire.Encode(a.Parcel); err == nil {
			c.do(Send{Line: LineGossip, To: a.To, Body: body})
		} else {
			c.counts.Unsent += uint64(len(a.To))
		}
	case gossip.Suggested:
		c.suggested(a)
	case gossip.Heard:
		c.tell(News{
			Namespace: a.Namespace, Topic: a.Topic, Subject: c.node(a.Subject), Body: slices.Clone(a.Body),
			Age: time.Duration(a.Age) * c.set.Gossip.Round, Via: a.Via,
		})
	case gossip.SteppedDown:
		c.tell(SteppedDown{Namespace: a.Namespace, Reign: a.Reign, Why: a.Why, For: a.For})
	case gossip.Refused:
		c.tell(Refused{From: a.From, Subject: c.node(a.Subject), Why: a.Why, Reason: gossipReason(a.Why)})
	case gossip.Twin:
		c.tell(Twin{Subject: c.node(a.Subject), Hosts: a.Hosts})
	}
}

// follow is a suggestion that was told.
type follow struct {
	leader Node
	since  time.Duration
}

// suggested tells of another leader, and how long the last one was it.
func (c *Core) suggested(a gossip.Suggested) {
	before := c.followed[a.Namespace]
	now := Leader{Namespace: a.Namespace, Leader: c.node(a.Leader), Reign: a.Reign, Self: a.Self, Before: before.leader}
	if before.leader != (Node{}) {
		now.Lasted = c.now - before.since
	}
	c.followed[a.Namespace] = follow{leader: now.Leader, since: a.Since}
	c.tell(now)
}
