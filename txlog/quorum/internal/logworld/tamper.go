package logworld

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// Some rules are left out by what the world changes on its way to a core, or from it.

// opensDoor says from when on the world takes an act door for open: with hold left out, from the beginning of its term.
func (r *run) opensDoor(d core.Doors) core.Doors {
	if r.broken(hold) {
		d.Opens = 0
	}
	return d
}

// goalTimeout is after how long a goal has failed with never-skip left out.
const goalTimeout = 15 * time.Second

// timesOut tells a user that a goal has failed which has no answer in time, with never-skip left out.
func (n *node) timesOut(ticket uint64) {
	if !n.r.broken(neverSkip) {
		return
	}
	life := n.life
	n.r.w.After(goalTimeout, func() {
		if n.life != life {
			return
		}
		n.takes(func() core.Input {
			if reply := n.waiting[ticket]; reply != nil {
				delete(n.waiting, ticket)
				reply(txlog.Answer{Fault: "there was no result in time"}, nil)
			}
			return nil
		})
	})
}

// pulled gives a core an answer to what it has asked for. With keep-early left out, what comes before its turn is lost; with
// committed-only, there is a head of whatever comes.
func (n *node) pulled(from string, a follower.History) core.Input {
	if len(a.Records) == 0 {
		return core.Received{From: from, Body: a}
	}
	last := a.Records[len(a.Records)-1]
	leader := n.r.byName[last.Leader]
	switch {
	case n.r.broken(keepEarly) && a.Records[0].Index > n.at().Index+1:
		a.Records = nil
	case n.r.broken(committedOnly) && leader != nil:
		h := txlog.Head{Position: last.Position(), State: last.State, Member: leader.name}.Sign(leader.key)
		return core.Batch{core.Headed{Head: h, Via: from}, core.Received{From: from, Body: a}}
	}
	return core.Received{From: from, Body: a}
}
