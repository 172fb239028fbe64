package bare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog/store"
)

// Core is the members of one log.
type Core struct {
	net   *memory.Network
	nodes []*node
	ends  context.CancelFunc
}

// Open makes a member of each store, of which the first one leads. The stores stay open: the caller closes them after Close.
func Open(ctx context.Context, stores []store.Store) (b *Core, err error) {
	own, cancel := context.WithCancel(ctx)
	b = &Core{net: memory.New(1), ends: cancel}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	for i, s := range stores {
		n, err := b.join(s, uint64(i+1), len(stores))
		if err != nil {
			for _, n := range b.nodes {
				n.ended <- nil // it has not begun
			}
			return b, err
		}
		b.nodes = append(b.nodes, n)
	}
	for i, n := range b.nodes {
		go func() { n.ended <- n.run(own, i == 0) }()
	}
	select {
	case <-b.nodes[0].leads:
		return b, nil
	case <-ctx.Done():
		return b, context.Cause(ctx)
	case <-time.After(time.Minute):
		return b, errors.New("the bare core has no leader after a minute")
	}
}

func nameOf(id uint64) string { return fmt.Sprint("bare-", id) }

func (b *Core) join(s store.Store, id uint64, many int) (*node, error) {
	n := &node{
		id: id, store: s, kept: raft.NewMemoryStorage(), asks: make(chan ask, 1024), leads: make(chan struct{}),
		waiting: map[uint64]chan struct{}{}, ended: make(chan error, 1),
	}
	var err error
	if n.line, err = b.net.Join(nameOf(id)).Open("log"); err != nil {
		return nil, err
	}
	var voters []uint64
	for i := range many {
		voters = append(voters, uint64(i+1))
	}
	begin := &pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: voters}}}
	if err := n.kept.ApplySnapshot(begin); err != nil {
		return nil, err
	}
	n.core, err = raft.NewRawNode(&raft.Config{
		ID: id, Storage: n.kept, Applied: 1, ElectionTick: 10, HeartbeatTick: 1, MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: 64 << 20,
		MaxInflightMsgs: 256, PreVote: true, CheckQuorum: true, DisableProposalForwarding: true, Logger: &raft.DefaultLogger{Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)},
	})
	return n, err
}

// Ask has a body of 8 bytes or more decided on, and returns when it is committed and synced. The first eight bytes are changed.
func (b *Core) Ask(ctx context.Context, body []byte) error {
	a := ask{body: body, done: make(chan struct{})}
	n := b.nodes[0]
	select {
	case n.asks <- a:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Minute):
		return errors.New("the bare core has not decided for a minute")
	}
}

// Stored returns how many entries each member has in its file.
func (b *Core) Stored() (all []int) {
	for _, n := range b.nodes {
		view := n.store.View()
		all = append(all, int(view.NextSlot-view.FirstSlot))
	}
	return all
}

// Close ends all members.
func (b *Core) Close() (err error) {
	b.ends()
	for _, n := range b.nodes {
		err = errors.Join(err, <-n.ended)
		n.line.Close()
	}
	return err
}
