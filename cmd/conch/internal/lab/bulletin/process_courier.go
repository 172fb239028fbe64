package bulletin

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
)

// expires is for how long a node tries to have a goal executed.
const expires = 30 * time.Second

// courier has the machine of goals take an input, and does what it says.
func (n *node) courier(in courier.Input) {
	if n.process == nil {
		return
	}
	life := n.life
	for _, a := range n.c.Step(n.now(), in) {
		if n.life != life {
			return
		}
		switch a := a.(type) {
		case courier.Send:
			n.sends(a)
		case courier.Ask:
			n.follower(follower.News{})
		case courier.Answer:
			n.answers(a.Ticket, a.Answer, a.Err)
		case courier.Changed:
			n.r.stats["changes_noticed"]++
			n.r.w.Note(n.name, "waits for another leader with "+a.GoalID, 0)
		case courier.TimedOut:
			n.r.stats["goal_timeouts"]++
		}
	}
}

// sends gives a goal to a member.
func (n *node) sends(a courier.Send) {
	to := n.r.byName[a.To]
	n.r.w.Note(n.name, "gives "+a.GoalID+" to "+a.To, int64(a.Try))
	if to == n {
		n.submitted(a, func(got txlog.Answer, err error) {
			n.courier(courier.Answered{Try: a.Try, From: n.name, Answer: got, Err: err})
		})
		return
	}
	if !to.up {
		life := n.life
		n.r.w.After(n.r.delay(), func() {
			if n.life == life {
				n.does(func() { n.courier(courier.Failed{Try: a.Try, To: a.To}) })
			}
		})
		return
	}
	n.r.carry(n, to, func() {
		to.submitted(a, func(got txlog.Answer, err error) {
			n.r.carry(to, n, func() { n.courier(courier.Answered{Try: a.Try, From: to.name, Answer: got, Err: err}) })
		})
	})
}

// submitted takes a goal as a member.
func (n *node) submitted(a courier.Send, reply func(txlog.Answer, error)) {
	if n.process == nil {
		return
	}
	if n.m == nil {
		reply(txlog.Answer{}, txlog.NotLeaderError{})
		return
	}
	if n.leads && !n.passes(received) {
		return
	}
	told := func(got txlog.Answer, err error) {
		n.r.refused(n, a.GoalID, err)
		reply(got, err)
	}
	n.member(member.Submit{Ticket: n.newTicket(told), GoalID: a.GoalID, Goal: a.Goal, Since: a.Since})
}

// known looks a goal up in the node's own copy.
func (n *node) known(goalID string, goal []byte, since uint64) (txlog.Result, bool, error) {
	return n.copy.Admit(goalID, goal, since)
}
