package bulletin

import (
	"cmp"
	"errors"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
)

// member has the member machine take an input, and does what it says.
func (n *node) member(in member.Input) {
	if n.process == nil || n.m == nil {
		return
	}
	life := n.life
	for _, a := range n.m.Step(n.now(), in) {
		if n.life != life {
			return
		}
		n.performs(a)
	}
}

func (n *node) performs(a member.Action) {
	switch a := a.(type) {
	case member.Campaign:
		n.request(quorum.Campaign{})
	case member.Append:
		n.request(quorum.Append{Record: a.Record})
	case member.Confirm:
		n.request(quorum.Confirm{Read: a.Read})
	case member.Applied:
		n.applied(a.Records)
	case member.Answer:
		n.answers(a.Ticket, a.Answer, a.Err)
	case member.Perform:
		n.acts(a)
	case member.Say:
		h := a.Head
		h.Member = n.name
		h = h.Sign(n.key)
		n.follower(follower.Heard{Head: h, Via: n.name})
		n.publishes(h)
	case member.Keep:
		n.keeps(a)
	case member.Rebuild:
		n.r.stats["rebuilds"]++
		n.r.tell(n, "makes its copies anew: %v", a.Why)
		n.flipped = false
		n.rebuilds()
	case member.Quarantine:
		n.r.stats["quarantines"]++
		n.r.tell(n, "gives its term up: %v", a.Why)
		n.r.quarantined(n)
	}
}

// applied passes on what is committed.
func (n *node) applied(records []txlog.Record) {
	for _, record := range records {
		n.r.committed(n, record)
	}
	if n.leads && slices.ContainsFunc(records, func(r txlog.Record) bool { return r.Kind == txlog.Executed }) && !n.passes(committed) {
		return
	}
	at := n.f.Snapshot().At.Index
	fresh := slices.DeleteFunc(slices.Clone(records), func(r txlog.Record) bool { return r.Index <= at })
	n.follower(follower.Applied{Records: fresh})
	n.heardOf(records)
}

// heardOf tells the courier, and looks whether the members are others.
func (n *node) heardOf(records []txlog.Record) {
	for _, record := range records {
		n.courier(courier.Applied{Record: record})
		if record.Kind != txlog.Changed || n.process == nil {
			continue
		}
		n.courier(courier.Members{Names: names(record.Members)})
		n.request(quorum.Known{Index: record.Index, Members: record.Members})
		m, is := txlog.FindMember(record.Members, n.name)
		is = is && m.Store == n.disk.id
		n.leaves, n.in = n.in && !is, is
	}
}

// rebuilds gives the member machine copies that were made anew from the disk.
func (n *node) rebuilds() {
	if n.process == nil || n.m == nil {
		return
	}
	base, tail, err := n.disk.load(n.state)
	if err != nil {
		n.fails(err)
		return
	}
	if !n.f.Snapshot().Following {
		n.copy = base
	}
	n.member(member.Rebuilt{Base: base, Tail: tail})
}

// acts performs an effect if the act door is open, at the moment at which it is done.
func (n *node) acts(a member.Perform) {
	life := n.life
	n.r.w.After(n.r.w.Between(round/20, round/3), func() {
		if n.life != life || n.paused {
			return
		}
		if !n.act.Open(n.now()) {
			return
		}
		n.r.acted(n, a)
		n.does(func() { n.member(member.Done{Key: a.Key}) })
	})
}

// keeps stores a snapshot of the member's copy.
func (n *node) keeps(a member.Keep) {
	record, is := n.disk.now.record(a.Position.Index)
	if !is {
		return
	}
	h := txlog.Head{Position: a.Position, State: record.State, Member: n.name}
	offer := follower.SumPieces(h.Sign(n.key), a.Snapshot)
	n.stores(snap{bytes: a.Snapshot, offer: offer})
}

// stores keeps a snapshot and drops what it makes needless.
func (n *node) stores(s snap) {
	n.r.stats["snapshots"]++
	before := n.disk.now.first
	n.disk.now.keeps(s)
	n.synced(func() {
		n.follower(follower.Kept{Offer: s.offer})
		if first := n.disk.now.first; first > before {
			n.follower(follower.Dropped{First: first})
		}
	})
}

// answers ends a ticket.
func (n *node) answers(ticket uint64, a txlog.Answer, err error) {
	if n.process == nil {
		return
	}
	if reply := n.tickets[ticket]; reply != nil {
		delete(n.tickets, ticket)
		reply(a, err)
	}
}

// newTicket returns the name of an asker.
func (n *node) newTicket(reply func(txlog.Answer, error)) uint64 {
	n.ticket++
	n.tickets[n.ticket] = reply
	return n.ticket
}

// asked takes what a client asks for.
func (n *node) asked(a *ask, reply func(answer)) {
	if n.process == nil {
		return
	}
	back := func(got txlog.Answer, err error) { reply(n.verdict(got, err)) }
	switch {
	case a.goal != nil:
		n.courier(courier.Submit{Ticket: n.newTicket(back), GoalID: a.id, Goal: a.goal, Since: a.since, Expires: expires})
	case !n.leads: // the quorum confirms reads to its leader alone
		reply(answer{leader: cmp.Or(n.follows, n.r.suggestedName()), why: txlog.ErrNotLeader})
	default:
		n.member(member.Read{Ticket: n.newTicket(back), Query: getQuery(a.key)})
	}
}

// verdict says what an answer means to a client.
func (n *node) verdict(got txlog.Answer, err error) answer {
	a := answer{result: got.Result, fault: got.Fault, why: err, wrong: n.flipped}
	a.at.Index, a.at.Hash = got.Index, got.Hash
	var other txlog.NotLeaderError
	switch {
	case err == nil && got.Index == 0 && got.Fault != "":
		a.verdict, a.why = failed, errors.New(got.Fault)
	case err == nil:
		a.verdict = done
	case errors.Is(err, txlog.ErrGoalID):
		a.verdict = otherGoal
	case errors.Is(err, txlog.ErrOld):
		a.verdict = tooOld
	case errors.Is(err, txlog.ErrTooMany):
		a.verdict = tooMany
	case errors.As(err, &other):
		a.leader = other.Leader
	case errors.Is(err, txlog.ErrUnknown), errors.Is(err, member.ErrUnconfirmed):
	default:
		a.verdict = failed
	}
	return a
}
