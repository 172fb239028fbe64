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

// node is one member. Its loop owns it; asks is for others.
type node struct {
	id      uint64
	core    *raft.RawNode
	kept    *raft.MemoryStorage
	store   store.Store
	line    transport.Line
	asks    chan ask
	leads   chan struct{} // closed when it leads
	waiting map[uint64]chan struct{}
	asked   uint64
	ended   chan error
}

type ask struct {
	body []byte // its first eight bytes are for the node to fill
	done chan struct{}
}

// run is a member's loop, as that of a host: what has come meanwhile is taken together, and synced once.
func (n *node) run(ctx context.Context, first bool) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	if first {
		if err := n.core.Campaign(); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-n.line.Inbox():
			n.step(e)
		case a := <-n.asks:
			n.propose([]ask{a})
		case <-tick.C:
			n.core.Tick()
		}
		n.gather()
		if err := n.drain(); err != nil {
			return err
		}
	}
}

// gather takes what waits.
func (n *node) gather() {
	var all []ask
	for range 256 {
		select {
		case e := <-n.line.Inbox():
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

func (n *node) step(e transport.Envelope) {
	m := &pb.Message{}
	if proto.Unmarshal(e.Body, m) == nil {
		_ = n.core.Step(m)
	}
}

func (n *node) propose(all []ask) {
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

func (n *node) drain() error {
	for n.core.HasReady() {
		ready := n.core.Ready()
		if err := n.keep(ready); err != nil {
			return err
		}
		for _, m := range ready.Messages {
			if body, err := proto.Marshal(m); err == nil {
				_ = n.line.Send(nameOf(m.GetTo()), body)
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
func (n *node) leading() {
	select {
	case <-n.leads:
	default:
		if n.core.BasicStatus().RaftState == raft.StateLeader {
			close(n.leads)
		}
	}
}

func (n *node) keep(ready raft.Ready) error {
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
	return n.store.Write(step)
}
