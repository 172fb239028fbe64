package bulletin

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
)

// follower has the machine of the node's copy take an input, and does what it says.
func (n *node) follower(in follower.Input) {
	if n.process == nil || n.f == nil {
		return
	}
	life := n.life
	for _, a := range n.f.Step(n.now(), in) {
		if n.life != life {
			return
		}
		n.copies(a)
	}
}

func (n *node) copies(a follower.Action) {
	switch a := a.(type) {
	case follower.Ask:
		n.send(a.To, func(to *node) follower.Input { return follower.Asked{From: n.name, Pull: a.Pull} })
	case follower.Give:
		answer := n.fills(a)
		n.send(a.To, func(*node) follower.Input { return follower.Answered{From: n.name, Answer: answer} })
	case follower.AskPiece:
		n.send(a.To, func(*node) follower.Input { return follower.Wanted{From: n.name, Want: a.Want} })
	case follower.GivePiece:
		piece := n.disk.now.piece(a.Want)
		n.send(a.To, func(*node) follower.Input { return follower.Received{From: n.name, Piece: piece} })
	case follower.Apply:
		n.takesOver(a)
	case follower.Adopt:
		n.r.stats["adopted"]++
		n.r.tell(n, "takes a snapshot over, at %d", a.Offer.Head.Index)
		n.disk.now.adopts(snap{bytes: a.Snapshot, offer: a.Offer})
		n.r.adopted(n, a.Base)
		n.synced(n.caughtUp)
	case follower.Keep:
		n.stores(snap{bytes: a.Snapshot, offer: a.Offer})
	case follower.KeepBridge:
		bridges := n.disk.now.bridges
		n.disk.now.bridges = append(slices.Clip(bridges), a.Bridge)
		n.synced(func() {})
	case follower.Sign:
		h := a.Head
		h.Member = n.name
		h = h.Sign(n.key)
		n.follower(follower.Heard{Head: h, Via: n.name})
		n.publishes(h)
	case follower.Evidence:
		n.r.stats["evidence"]++
		n.r.check(n.r.spoiled, OneRecord, "%s has evidence that the log has forked at %d", n.name, a.Index)
	case follower.Spoiled:
		n.r.stats["rebuilds"]++
		n.r.tell(n, "makes its copy anew: %v", a.Why)
		n.flipped = false
		n.refollows()
	case follower.Parked:
		n.r.stats["parked"]++
		n.r.w.Note(n.name, "waits for what follows "+fmt.Sprint(a.At), int64(a.Upto))
	case follower.Refused:
		n.r.stats["refused"]++
		n.r.w.Note(n.name, "refuses what comes from "+a.From+": "+a.Why.Error(), 0)
	}
}

// send carries what one node's copy asks or tells another's.
func (n *node) send(to string, in func(*node) follower.Input) {
	if there := n.r.byName[to]; there != nil {
		what := in(there)
		n.r.carry(n, there, func() {
			if pull, is := what.(follower.Asked); !is || !there.eagerly(n.name, pull.Pull) {
				there.follower(what)
			}
		})
	}
}

// takesOver stores what a follower has applied.
func (n *node) takesOver(a follower.Apply) {
	for _, record := range a.Records {
		n.r.followed(n, record)
	}
	n.disk.now.add(a.Records)
	n.disk.now.head(a.Head)
	n.synced(func() {
		n.heardOf(a.Records)
		n.caughtUp()
	})
}

// refollows gives the machine a copy that was made anew from the disk.
func (n *node) refollows() {
	base, _, err := n.disk.load(n.state)
	if err != nil {
		n.fails(err)
		return
	}
	n.copy = base
	n.follower(follower.Follow{Base: base})
}

// fills adds to an answer what the store has.
func (n *node) fills(a follower.Give) follower.Answer {
	out := a.Answer
	if a.From == 0 {
		return out
	}
	f, size := &n.disk.now, 0
	for i := max(a.From, f.first); i <= min(a.Upto, f.last()) && len(out.Records) < follower.MostRecords; i++ {
		record, _ := f.record(i)
		if size += len(record.Raw()); size > follower.MostAnswer && len(out.Records) > 0 {
			break
		}
		out.Records = append(out.Records, record)
	}
	if len(out.Records) == 0 {
		return out
	}
	begin, end := out.Records[0].Index, out.Records[len(out.Records)-1].Index
	for _, h := range slices.Backward(f.heads) {
		if h.Index <= end && h.Index >= begin {
			out.Heads = append([]txlog.Head{h}, out.Heads...)
			out.Records = out.Records[:h.Index-begin+1]
			break
		}
	}
	return out
}

// eagerly answers a pull with what this leader has stored and nobody knows to be committed: a fault of the scene eager-leader.
func (n *node) eagerly(from string, pull follower.Pull) bool {
	if !n.r.eager || n.process == nil || !n.leads {
		return false
	}
	tail, err := n.disk.now.Tail()
	answer := follower.Answer{Serial: pull.Serial}
	for _, record := range tail {
		if err == nil && record.Index == pull.From+uint64(len(answer.Records)) && record.Index <= pull.Upto {
			answer.Records = append(answer.Records, record)
		}
	}
	if len(answer.Records) == 0 {
		return false
	}
	n.r.stats["sent_uncommitted"]++
	n.send(from, func(*node) follower.Input { return follower.Answered{From: n.name, Answer: answer} })
	return true
}

func (n *node) hearsHead(h txlog.Head, via *node) {
	if n.process == nil {
		return
	}
	n.follower(follower.Heard{Head: h, Via: via.name})
}

func (n *node) hearsSuggestion(name string) {
	if n.process == nil {
		return
	}
	n.request(quorum.Suggested{Name: name})
	n.member(member.Suggested{Name: name})
	if n.process != nil && n.m == nil {
		n.courier(courier.Leader{Name: name})
	}
}

// record returns the record at an index.
func (f *files) record(index uint64) (txlog.Record, bool) {
	if index < f.first || index > f.last() {
		return txlog.Record{}, false
	}
	return f.records[index-f.first], true
}

// piece returns a piece of a snapshot.
func (f *files) piece(want follower.Want) follower.Piece {
	for _, s := range f.snaps {
		begin := want.Piece * follower.PieceSize
		if s.offer.Head.Hash == want.At && begin < uint64(len(s.bytes)) {
			return follower.Piece{Want: want, Bytes: s.bytes[begin:min(begin+follower.PieceSize, uint64(len(s.bytes)))]}
		}
	}
	return follower.Piece{Want: want}
}

func (f *files) newestHead() txlog.Head {
	if len(f.heads) == 0 {
		return txlog.Head{}
	}
	return f.heads[len(f.heads)-1]
}

func (f *files) offers() (all []follower.Offer) {
	for _, s := range f.snaps {
		all = append(all, s.offer)
	}
	return all
}
