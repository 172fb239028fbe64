package bare

import (
	"context"
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/store"
)

// Node is one member. Its loop owns it; Ask is for others.
type Node struct {
	Config

	id      uint64
	core    *raft.RawNode
	kept    *raft.MemoryStorage
	asks    chan ask
	leads   chan struct{} // closed when it leads
	waiting map[uint64]chan struct{}
	asked   uint64
}

type ask struct {
	body []byte // its first eight bytes are for the node to fill
	done chan struct{}
}

// Run is a member's loop, as that of a host: what has come meanwhile is taken together, and synced once. It ends with ctx, or with
// an error of the store.
//
// Time passes for the first member alone, which asks for votes until it leads. So nobody else does, however busy the machine is.
func (n *Node) Run(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-n.Line.Inbox():
			n.step(e)
		case a := <-n.asks:
			n.propose([]ask{a})
		case <-tick.C:
			n.tick()
		}
		n.gather()
		if err := n.drain(); err != nil {
			return err
		}
	}
}

func (n *Node) tick() {
	switch {
	case n.Self != 0:
	case n.core.BasicStatus().RaftState == raft.StateLeader:
		n.core.Tick()
	default:
		_ = n.core.Campaign()
	}
}

// gather takes what waits.
func (n *Node) gather() {
	var all []ask
	for range 256 {
		select {
		case e := <-n.Line.Inbox():
			n.step(e)
		case a := <-n.asks:
			all = append(all, a)
		default:
			n.propose(all)
			return
		}
	}
	n.propose(all)
}

func (n *Node) step(e transport.Envelope) {
	m := &pb.Message{}
	if proto.Unmarshal(e.Body, m) == nil {
		_ = n.core.Step(m)
	}
}

func (n *Node) propose(all []ask) {
	if len(all) == 0 {
		return
	}
	var entries []*pb.Entry
	for _, a := range all {
		n.asked++
		binary.BigEndian.PutUint64(a.body, n.asked)
		n.waiting[n.asked] = a.done
		entries = append(entries, &pb.Entry{Data: a.body})
	}
	_ = n.core.Step(&pb.Message{Type: pb.MsgProp.Enum(), From: new(n.id), Entries: entries})
}

func (n *Node) drain() error {
	for n.core.HasReady() {
		ready := n.core.Ready()
		if err := n.keep(ready); err != nil {
			return err
		}
		for _, m := range ready.Messages {
			if body, err := proto.Marshal(m); err == nil {
				_ = n.Line.Send(n.Names[m.GetTo()-1], body)
			}
		}
		for _, e := range ready.CommittedEntries {
			if len(e.GetData()) < 8 {
				n.leading()
				continue
			}
			if done := n.waiting[binary.BigEndian.Uint64(e.GetData())]; done != nil {
				close(done)
				delete(n.waiting, binary.BigEndian.Uint64(e.GetData()))
			}
		}
		n.core.Advance(ready)
	}
	return nil
}

// leading says that this member leads, once it does.
func (n *Node) leading() {
	select {
	case <-n.leads:
	default:
		if n.core.BasicStatus().RaftState == raft.StateLeader {
			close(n.leads)
		}
	}
}

func (n *Node) keep(ready raft.Ready) error {
	step := store.Step{Lazy: !ready.MustSync}
	if !raft.IsEmptyHardState(ready.HardState) {
		b, err := proto.Marshal(ready.HardState)
		if err != nil {
			return err
		}
		step.Values = map[string][]byte{"hard": b}
		if err := n.kept.SetHardState(ready.HardState); err != nil {
			return err
		}
	}
	for _, e := range ready.Entries {
		body := binary.AppendUvarint(nil, e.GetTerm())
		step.Slots = append(step.Slots, store.Slot{Index: e.GetIndex(), Body: append(body, e.GetData()...)})
	}
	if step.Values == nil && len(step.Slots) == 0 {
		return nil
	}
	step.Lazy = step.Lazy && len(step.Slots) == 0
	if err := n.kept.Append(ready.Entries); err != nil {
		return err
	}
	return n.Store.Write(step)
}
