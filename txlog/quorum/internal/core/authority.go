package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// request asks the authority for something, once what is at hand is done.
func (c *Core) request(in majority.Input) {
	if c.q != nil {
		c.requests = append(c.requests, in)
	}
}

// tellSaid passes on what the authority has said, now that it is kept.
func (c *Core) tellSaid() {
	out := c.said
	if c.said = nil; out == nil {
		return
	}
	for _, m := range out.Messages {
		c.do(Send{To: m.To, Body: wire.Quorum{Bytes: m.Bytes}, Beat: m.Beat})
	}
	if out.Door != nil && *out.Door != c.door {
		c.door = *out.Door
		c.do(Doors{Door: c.door})
		c.doorMoves()
	}
	for _, fact := range out.Facts {
		if !c.over {
			c.learn(fact)
		}
	}
	for _, r := range out.Refused {
		c.tell(Refused{From: r.From, Why: r.Why})
		if errors.Is(r.Why, majority.ErrLost) && !c.over {
			c.lose(r.Why)
		}
		if errors.Is(r.Why, majority.ErrForked) && (c.forked == 0 || c.rounds-c.forked >= 10*looks) { // the others hear by it which entry differs, now and then again
			c.forked, c.unheard = c.rounds, true
		}
	}
	if out.Behind != nil && !c.over {
		c.isBehind(*out.Behind)
	}
	if out.Failed != nil && !c.over {
		c.restart(out.Failed)
	}
}

// learn takes a fact of the authority.
func (c *Core) learn(fact authority.Fact) {
	switch f := fact.(type) {
	case authority.Leads:
		c.leadership(f.Term, c.set.Self, true)
	case authority.Deposed:
		c.leadership(f.Term, f.Leader, false)
	}
	c.member(member.Heard{Fact: fact})
}

func (c *Core) leadership(term uint64, leader string, self bool) {
	if term == c.term && leader == c.leader && self == c.leads {
		return
	}
	led := c.leads
	c.term, c.leader, c.leads, c.asks = term, leader, self, nil
	if leader != "" {
		c.ran = c.ran || c.q != nil
		c.found()
	}
	c.courier(courier.Leader{Name: leader, Term: term})
	c.repose(led)
	if self {
		c.barEarly() // before the member machine may execute them
	}
	c.tell(Leads{Term: term, Leader: leader, Self: self})
}

// suggested takes whom gossip names. It decides nothing.
func (c *Core) suggested(name string) {
	c.hint = name
	c.request(majority.Suggested{Name: name})
	c.member(member.Suggested{Name: name})
	if c.q == nil && c.leader == "" {
		c.courier(courier.Leader{Name: name})
	}
}

// doorMoves tells the member machine whether it may act outside.
func (c *Core) doorMoves() {
	if open := c.door.Open(c.now); open != c.open {
		c.open = open
		c.member(member.Door{Open: open})
	}
}

// isBehind has the copy come as far as the authority needs it: for that it follows.
func (c *Core) isBehind(at txlog.Position) {
	first := c.behind == nil
	c.behind = &at
	from := c.leader
	if !first {
		c.follower(follower.Behind{Index: at.Index, From: from})
		c.caughtUp()
		return
	}
	c.tell(FellBehind{Upto: at.Index})
	c.load(func(h Has) {
		c.follower(follower.Follow{Base: h.Copy})
		c.follower(follower.Behind{Index: at.Index, From: from})
		c.caughtUp()
	})
}

// caughtUp tells the authority that the copy has come to where it must be.
func (c *Core) caughtUp() {
	if c.behind == nil || c.q == nil || c.last < c.behind.Index || len(c.loads) > 0 {
		return
	}
	said := *c.behind
	c.behind = nil
	c.follower(follower.Yield{})
	c.rebuild(func(h Has) {
		at, is, err := h.At(said.Index)
		if err != nil {
			c.lose(err)
			return
		}
		if !is { // a snapshot has passed over it: the leader may need this member to come further, and is believed
			at = said
		}
		c.request(majority.Reached{At: at})
	})
}

// rebuild gives the member machine copies that were made anew from the store.
func (c *Core) rebuild(then func(Has)) {
	c.load(func(h Has) {
		c.missed(h)
		c.member(member.Rebuilt{Base: h.Copy, Tail: h.Tail})
		then(h)
	})
}

// rounds between two looks at whether this node belongs to the members.
const looks = 10

// quits is for how many looks a store that is no member runs its authority, and hears no leader. While a change goes on, the
// leader needs those that leave as well, and speaks to them; what they have left too soon they join again.
const quits = 2

// belongs makes a follower of a node that is no member any more, and has a member ask to be admitted whose store is lost.
func (c *Core) belongs() {
	if c.rounds%looks != 0 || c.over {
		return
	}
	if m, is := txlog.FindMember(c.members, c.set.Self); is && m.Store != c.store && c.twin == 0 {
		for _, of := range c.members {
			if of.Name != c.set.Self {
				c.send(of.Name, wire.Admit{Store: c.store, Key: c.key})
			}
		}
	}
	if last, is := c.copy.Last(); is && c.unheard {
		c.unheard = false
		c.say(txlog.Head{Position: last.Position(), State: last.State}, true)
	}
	c.seek()
	if c.q == nil {
		return
	}
	now := c.q.Snapshot()
	switch {
	case c.mine() || c.leads || now.Leader != "":
		c.outside = 0
	case now.Member && (c.told <= now.Committed.Index || c.changed && hasStore(c.before, c.store)): // see leaves
		c.outside = 0
	default:
		if c.outside++; c.outside >= quits && len(c.loads) == 0 && c.said == nil {
			c.restart(errOutside)
		}
	}
}

var errOutside = fmt.Errorf("this store is no member's any more")

// admit proposes another store of a member, if this node leads. Its name is proven, and its key has to be the one of its entry: a member
// with another key a person takes out and adds again. The store that it has now must have been silent since the other one has asked first,
// for some asks: else both live.
func (c *Core) admit(name string, a wire.Admit) {
	all := append([]txlog.Member(nil), c.members...)
	i := slices.IndexFunc(all, func(of txlog.Member) bool { return of.Name == name && of.Store != a.Store })
	switch {
	case i < 0:
		return
	case all[i].Key != a.Key:
		if c.leads {
			c.tell(Refused{From: name, Why: fault(errKey, "%s, and it has %s", all[i].Key, a.Key)})
		}
		return
	}
	if c.renewed[name] = (renewal{a.Store, c.rounds}); !c.leads || c.m == nil {
		return
	}
	asks := c.asks[name]
	first, asked := asks[a.Store]
	switch heard := c.heardOf(all[i].Store); {
	case !asked:
		if c.asks == nil {
			c.asks = map[string]map[uint64]uint64{}
		}
		if asks == nil || len(asks) == mostAsks {
			asks = map[uint64]uint64{}
			c.asks[name] = asks
		}
		asks[a.Store] = c.rounds
		return
	case heard >= 0 && uint64(heard) < c.rounds-first:
		asks[a.Store] = c.rounds
		c.tell(Refused{From: name, Why: fault(errTwin, "store %d asks to be admitted, and store %d was heard %v ago", a.Store, all[i].Store, time.Duration(heard)*Round)})
		c.send(name, wire.Twin{Store: all[i].Store, Asks: a.Store})
		return
	case c.rounds-first < 2*looks:
		return
	}
	all[i].Store = a.Store
	if _, err := majority.Check(all); err != nil {
		c.tell(Refused{From: name, Why: err})
		return
	}
	c.member(member.Change{Ticket: c.newTicket(asker{}), Members: all, Since: c.told})
}

// renewal is a store that asks to be admitted in place of another one of its node, and in which round it has asked last.
type renewal struct{ store, at uint64 }

// isRenewed reports whether a member's node runs with another store, and has said so within the last asks.
func (c *Core) isRenewed(m txlog.Member) bool {
	if m.Name == c.set.Self {
		return m.Store != c.store && c.twin == 0
	}
	other, has := c.renewed[m.Name]
	return has && other.store != m.Store && c.rounds-other.at < 5*looks
}

// mostAsks is how many stores that ask are remembered of one member.
const mostAsks = 16

// heardOf returns how many rounds ago a member's store was heard; -1: never.
func (c *Core) heardOf(store uint64) int {
	for _, of := range c.q.Snapshot().Members {
		if of.Store == store {
			return of.Heard
		}
	}
	return -1
}

// twins takes a member's word that another process has this node's name and key.
func (c *Core) twins(from string, t wire.Twin) {
	if _, is := txlog.FindMember(c.members, from); is && (t.Store == c.store || t.Asks == c.store) {
		c.tell(Twin(t))
	}
}

// decide takes over the members. A store whose place another one has taken while this node ran does not ask for it again: they
// would take turns. One to which no leader has spoken may be an old one that is mounted again, and this is its history.
func (c *Core) decide(members []txlog.Member, index uint64) {
	was := c.mine()
	if !slices.Equal(members, c.members) {
		c.before, c.members = c.members, members
	}
	if c.mine() != was {
		c.tell(Member{Is: !was})
	}
	c.courier(courier.Members{Names: names(members)})
	c.request(majority.Known{Index: index, Members: members, Before: c.before})
	switch m, is := txlog.FindMember(members, c.set.Self); {
	case c.mine():
		c.twin = 0
	case is && was && c.ran:
		c.twin = m.Store
		c.tell(Twin{Store: m.Store, Asks: c.store})
	}
}
