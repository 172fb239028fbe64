package bulletin

import (
	"errors"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
)

// request asks the authority for something, once what is at hand is done.
func (n *node) request(in quorum.Input) {
	if n.process != nil && n.q != nil {
		n.requests = append(n.requests, in)
	}
}

// decide has the authority take what waits for it, keeps what it says, and then tells the others.
func (n *node) decide() {
	batch := quorum.Batch(n.requests)
	n.requests = nil
	if n.q == nil || appends(batch) && !n.passes(executed) {
		return
	}
	out := n.q.Step(n.now(), batch)
	n.write(&out.Persist)
	if !out.Persist.Sync || n.r.broken(syncFirst) {
		n.r.commits(n, out.Persist.Records)
		n.tells(out)
		return
	}
	n.synced(func() {
		n.r.commits(n, out.Persist.Records)
		if len(out.Persist.Entries) == 0 || !n.leads || n.passes(stored) {
			n.tells(out)
		}
	})
}

func appends(batch quorum.Batch) bool {
	for _, in := range batch {
		if a, is := in.(quorum.Append); is && a.Record.Kind == txlog.Executed {
			return true
		}
	}
	return false
}

// write keeps what a step asks for. It is on the disk after the next sync.
func (n *node) write(p *quorum.Persist) {
	n.disk.now.Apply(*p)
	n.disk.now.add(p.Records)
	if p.Reset != nil || len(p.Entries) > 0 {
		n.r.w.Mark(int64(len(p.Entries)))
	}
	if disk, life := n.disk, n.life; n.r.broken(syncFirst) && !disk.flushing {
		disk.flushing = true
		n.r.w.After(n.r.w.Between(10*round, 40*round), func() {
			if disk.flushing = false; n.life == life {
				disk.sync()
			}
		})
	}
}

// synced goes on once the disk has what was written. Meanwhile the loop does nothing.
func (n *node) synced(then func()) {
	if n.r.broken(syncFirst) {
		then()
		return
	}
	n.waits = true
	life := n.life
	n.r.w.After(n.r.syncTakes(), func() {
		if n.life != life {
			return
		}
		n.disk.sync()
		n.waits = false
		n.inbox = append([]func(){then}, n.inbox...)
		n.loop()
	})
}

// syncTakes is how long a disk takes: mostly a millisecond, sometimes much longer.
func (r *run) syncTakes() time.Duration {
	if !r.quiet && r.w.Chance(0.003) {
		return r.w.Between(round/2, 4*round)
	}
	return r.w.Between(300*time.Microsecond, 3*time.Millisecond)
}

// tells passes on what a step has said, once it is kept.
func (n *node) tells(out quorum.Output) {
	life := n.life
	for _, m := range out.Messages {
		if to := n.r.byName[m.To]; to != nil {
			n.r.stats["bytes"] += int64(len(m.Bytes))
			n.r.carry(n, to, func() { to.receives(n, m.Bytes) })
		}
	}
	if out.Door != nil {
		n.act = *out.Door
		if out.Door.Term == 0 {
			n.r.shuts(n)
		} else {
			n.r.opens(n, out.Door.Term, out.Door.Opens, out.Door.Until)
		}
	}
	for _, fact := range out.Facts {
		if n.life != life {
			return
		}
		n.learns(fact)
	}
	for _, refusal := range out.Refused {
		n.r.stats["refused_messages"]++
		n.r.w.Note(n.name, "refuses a message of "+refusal.From+": "+refusal.Why.Error(), 0)
		if errors.Is(refusal.Why, quorum.ErrLost) && !n.r.broken(newDiskNewMember) {
			n.lost(refusal.Why)
			return
		}
	}
	if n.life != life {
		return
	}
	if out.Behind != nil {
		n.isBehind(*out.Behind)
	}
	if out.Failed != nil {
		n.r.tell(n, "starts again: %v", out.Failed)
		n.r.stats["stopped"]++
		n.crash(false)
		n.restarts(5 * round)
	}
}

// learns takes a fact of the authority.
func (n *node) learns(fact txlog.Fact) {
	switch f := fact.(type) {
	case txlog.Leads:
		n.term, n.leads, n.follows = f.Term, true, n.name
		n.r.stats["leaders"]++
		n.r.tell(n, "leads in term %d", f.Term)
		n.courier(courier.Leader{Name: n.name, Term: f.Term})
	case txlog.Deposed:
		if n.leads {
			n.r.tell(n, "leads no more")
		}
		n.term, n.leads, n.follows = f.Term, false, f.Leader
		n.courier(courier.Leader{Name: f.Leader, Term: f.Term})
	case txlog.Refused:
		n.r.stats["refused_stores"]++
	}
	n.member(member.Heard{Fact: fact})
}

// receives takes a message of the authority of another node. The first one makes a member of a follower, if there is to be one more.
func (n *node) receives(from *node, message []byte) {
	if n.process == nil {
		return
	}
	if n.q == nil {
		n.joins()
	}
	n.request(quorum.Received{From: from.name, Bytes: message})
}

// isBehind has the copy come as far as the authority needs it.
func (n *node) isBehind(at txlog.Position) {
	from := n.follows
	first := n.behind == nil
	n.r.w.Note(n.name, "is behind", int64(at.Index))
	n.behind = &at
	if first {
		n.r.stats["fell_behind"]++
		n.refollows()
	}
	n.follower(follower.Behind{Index: at.Index, From: from})
	n.caughtUp()
}

// caughtUp tells the authority that the copy has come to where it must be.
func (n *node) caughtUp() {
	if n.process == nil || n.behind == nil || n.q == nil || n.disk.now.last() < n.behind.Index {
		return
	}
	at := *n.behind
	n.r.w.Note(n.name, "has come to", int64(at.Index))
	n.behind = nil
	n.yields()
	n.rebuilds()
	n.request(quorum.Reached{At: at})
}

// yields has the member machine apply again. Both go on from what the disk has.
func (n *node) yields() {
	n.refollows()
	n.follower(follower.Yield{})
}

// strays has the copy follow the others if the log goes on and the authority here does not: the members may be others by
// now, and nobody tells those that are none any more.
func (n *node) strays() {
	if n.process == nil || n.q == nil || n.behind != nil {
		return
	}
	at := n.m.Status().Position.Index
	moved := at > n.stood
	n.stood = at
	switch {
	case moved || n.newest.Index <= at:
		n.stalled = 0
		if moved && n.strayed {
			n.strayed = false
			n.yields()
			n.rebuilds()
		}
	case n.strayed:
	default:
		if n.stalled++; n.stalled == straysAfter {
			n.strayed = true
			n.r.stats["strayed"]++
			n.r.w.Note(n.name, "does not hear what others know", int64(n.newest.Index))
			n.refollows()
		}
	}
}

// straysAfter is for how many rounds the log goes on without this member before it follows the others.
const straysAfter = 30

// doorMoves tells the member machine whether it may act outside.
func (n *node) doorMoves() {
	if n.process == nil {
		return
	}
	if open := n.act.Open(n.now()); open != n.open {
		n.open = open
		n.member(member.Door{Open: open})
	}
}

func (r *run) lease() time.Duration { return time.Duration(r.genesis.LeaseMS) * time.Millisecond }
