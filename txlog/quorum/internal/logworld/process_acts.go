package logworld

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// sees judges what a core has stored.
func (n *node) sees(w core.Write) {
	switch {
	case w.Persist != nil:
		n.r.commits(n, w.Persist.Records)
		if w.Persist.Reset != nil || len(w.Persist.Entries) > 0 {
			n.r.w.Mark(int64(len(w.Persist.Entries)))
		}
		n.inOrder(w.Persist)
		n.r.inTheMiddle(w.Persist)
		n.r.marks(w.Persist.Mark)
	case w.Step != nil:
		for _, record := range w.Step.Records {
			n.r.followed(n, record)
		}
	case w.Adopt != nil:
		n.r.adopted(n, w.Adopt.At)
	}
}

// performs does one thing that a core has said.
func (n *node) performs(a core.Act) {
	switch a := a.(type) {
	case core.Send:
		n.send(a.To, a.Body)
	case core.Give:
		if answer, err := core.Pack(n.disk, follower.Give(a)); err == nil {
			n.send(a.To, wire.Fit(answer))
		}
	case core.GivePiece:
		n.send(a.To, core.Cut(n.disk, a.Want))
	case core.TicketEnded:
		if reply := n.waiting[a.Ticket]; reply != nil {
			delete(n.waiting, a.Ticket)
			reply(a.Answer, a.Err)
		}
	case core.Publish:
		n.publishes(a.Head)
	case core.Perform:
		n.effect(a, round/3)
	case core.Doors:
		if a = n.r.opensDoor(a); a.Term == 0 {
			n.r.shuts(n)
		} else {
			n.r.opens(n, a.Term, a.Opens, a.Until)
		}
		n.act = a.Door
	case core.Snapshot:
		n.snapshot(a)
	case core.Restart:
		if errors.Is(a.Why, member.ErrRefused) {
			n.r.Stats["quarantines"]++
		}
		n.anew(a.Why)
	case core.Lost:
		n.lost(a.Why)
	case core.Tell:
		n.told(a.Event)
	}
}

// told takes what people want to know.
func (n *node) told(e core.Event) {
	r := n.r
	switch e := e.(type) {
	case core.Leads:
		if e.Self {
			r.Stats["leaders"]++
			r.tell(n, "leads in term %d", e.Term)
		} else if n.leads {
			r.tell(n, "leads no more")
		}
		n.term, n.leads, n.follows = e.Term, e.Self, e.Leader
	case core.Applied:
		for _, record := range e.Records {
			r.followed(n, record)
		}
	case core.Waits:
		r.Stats["changes_noticed"]++
		r.w.Note(n.name, "waits for another leader with "+e.GoalID, 0)
		if r.scene != nil && r.scene.Story {
			r.tell(n, "waits with %s, and now for %s", e.GoalID, cmp.Or(e.To, "the next leader"))
		}
	case core.TimedOut:
		r.Stats["goal_timeouts"]++
	case core.Parked:
		r.Stats["parked"]++
		r.w.Note(n.name, "waits for what follows "+fmt.Sprint(e.At), int64(e.Upto))
	case core.Forked:
		r.Stats["evidence"]++
		r.Check(r.spoiled || slices.Contains([]string{e.A.Member, e.B.Member}, r.liar), OneRecord, "%s has evidence that the log has forked at %d", n.name, e.Index)
	case core.Doubted:
		r.Stats["denied"]++
		r.Check(r.liar == e.Head.Member, HonestTrusted, "%s says that %s lies, by its head at %d of term %d", n.name, e.Head.Member, e.Head.Index, e.Head.Term)
	case core.Rebuilt:
		r.Stats["rebuilds"]++
		r.tell(n, "makes its copies anew: %v", e.Why)
		n.flipped = false
	case core.Refused:
		r.Stats["refused"]++
		r.w.Note(n.name, "refuses what comes from "+e.From+": "+e.Why.Error(), 0)
	case core.Fetched:
		r.Stats["adopted"]++
		r.tell(n, "takes a snapshot over, at %d", e.Index)
	case core.FellBehind:
		r.Stats["fell_behind"]++
		r.w.Note(n.name, "is behind", int64(e.Upto))
	case core.Member:
		r.w.Note(n.name, "decides", map[bool]int64{true: 1}[e.Is])
	}
}

// send sends a message to another node, as bytes.
func (n *node) send(to string, body wire.Body) {
	r, there := n.r, n.r.byName[to]
	if there == nil || there == n {
		return
	}
	bytes, err := wire.Encode(wire.Message{Log: r.id, Body: body})
	if !r.Check(err == nil, AllAnswered, "%s cannot send a %T: %v", n.name, body, err) {
		return
	}
	r.Stats["bytes"] += int64(len(bytes))
	if answer, is := body.(wire.GoalDone); is {
		r.refused(n, n.goals[try(to, answer.Try)], answer.Err)
	}
	r.carry(n, there, func() core.Input { return there.receives(n, bytes) })
}

// receives takes a message.
func (n *node) receives(from *node, bytes []byte) core.Input {
	if n.process == nil {
		return nil
	}
	m, err := wire.Decode(bytes)
	if err != nil {
		return core.Faulty{From: from.name, Why: err}
	}
	switch body := m.Body.(type) {
	case wire.GoalSent:
		if n.leads && !n.passes(received) {
			return nil
		}
		n.goals[try(from.name, body.Try)] = body.ID
	case wire.Admit:
		if n.leads {
			n.r.changes = n.r.w.Now() + 10*round
		}
	case follower.Pull:
		if n.eagerly(from.name, body) {
			return nil
		}
	case follower.History:
		return n.pulled(from.name, body)
	}
	return core.Received{From: from.name, Body: m.Body}
}

func try(node string, number uint64) string { return fmt.Sprint(node, " ", number) }

// eagerly answers a pull with what this leader has stored and nobody knows to be committed: a fault of the scene eager-leader.
func (n *node) eagerly(from string, pull follower.Pull) bool {
	if !n.r.eager || !n.leads {
		return false
	}
	promises, err := majority.NewPromises(n.disk).Load()
	if err != nil {
		return false
	}
	tail, err := promises.Tail()
	answer := follower.History{Serial: pull.Serial}
	for _, record := range tail {
		if err == nil && record.Index == pull.From+uint64(len(answer.Records)) && record.Index <= pull.Upto {
			answer.Records = append(answer.Records, record)
		}
	}
	if len(answer.Records) == 0 {
		return false
	}
	n.r.Stats["sent_uncommitted"]++
	n.send(from, answer)
	return true
}

// effect performs an effect after a time. Now and then that fails, and is tried again while this node may act in the same term.
func (n *node) effect(a core.Perform, wait time.Duration) {
	life, term := n.life, n.act.Term
	n.r.w.After(n.r.w.Between(wait/6, wait), func() {
		switch {
		case n.life != life:
		case n.paused:
			n.effect(a, wait)
		case n.act.Term != term || !n.act.Open(n.now()):
			n.put(core.Ended{Key: a.Key, Try: a.Try})
		case n.r.w.Chance(0.2):
			n.effect(a, min(2*wait, 10*round))
		default:
			n.r.acted(n, a.Key)
			n.put(core.Done{Key: a.Key})
		}
	})
}

// snapshot stores a snapshot while the loop goes on.
func (n *node) snapshot(a core.Snapshot) {
	life := n.life
	n.r.w.After(n.r.w.Between(0, 2*round), func() {
		if n.life != life {
			return
		}
		kept, err := a.To(n.disk)
		if err != nil {
			n.r.w.Note(n.name, "keeps no snapshot: "+err.Error(), 0)
			return
		}
		if n.r.Stats["snapshots"]++; !n.waits && !n.r.broken(syncFirst) {
			n.disk.sync()
		}
		n.put(kept)
	})
}

// asked takes what a client asks for.
func (n *node) asked(a *ask, reply func(answer)) core.Input {
	if n.process == nil {
		return nil
	}
	if a.goal != nil && n.leads && !n.passes(received) {
		return nil
	}
	n.ticket++
	n.waiting[n.ticket] = func(got txlog.Answer, err error) { reply(n.verdict(got, err)) }
	if a.goal == nil {
		n.waiting[n.ticket] = func(got txlog.Answer, err error) {
			if err == nil {
				var at txlog.Position
				got.Result, at, err = n.core.Query(n.r.machine.Get(a.key))
				got.Index, got.Hash = at.Index, at.Hash
			}
			reply(n.verdict(got, err))
		}
		return core.Read{Ticket: n.ticket}
	}
	n.timesOut(n.ticket)
	return core.UserGoal{Ticket: n.ticket, Goal: txlog.Goal{ID: a.id, Body: a.goal, Since: a.since}}
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
	case errors.Is(err, txlog.ErrTooMany), errors.Is(err, core.ErrManyReads):
		a.verdict = tooMany
	case errors.As(err, &other):
		a.leader = other.Leader
	case errors.Is(err, txlog.ErrUnknown), errors.Is(err, member.ErrUnconfirmed), errors.Is(err, core.ErrLags):
	default:
		a.verdict = failed
	}
	return a
}

func sorted[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

func names(nodes []*node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.name)
	}
	return all
}
