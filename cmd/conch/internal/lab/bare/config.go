package bare

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/store"
)

// Config configures a [Node]. All of it is required.
type Config struct {
	Names []string // of all members, of which the first one leads
	Self  int      // this one's place among them
	Store store.Store
	Line  transport.Line
}

// New returns a member that does not run yet. Its store and its line stay open until Run has returned.
func New(c Config) (*Node, error) {
	n := &Node{
		Config: c, id: uint64(c.Self + 1), kept: raft.NewMemoryStorage(), asks: make(chan ask, 1024), leads: make(chan struct{}),
		waiting: map[uint64]chan struct{}{},
	}
	var voters []uint64
	for i := range c.Names {
		voters = append(voters, uint64(i+1))
	}
	begin := &pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: voters}}}
	if err := n.kept.ApplySnapshot(begin); err != nil {
		return nil, err
	}
	var err error
	n.core, err = raft.NewRawNode(&raft.Config{
		ID: n.id, Storage: n.kept, Applied: 1, ElectionTick: 10, HeartbeatTick: 1, MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: 64 << 20,
		MaxInflightMsgs: 256, PreVote: true, DisableProposalForwarding: true, Logger: &raft.DefaultLogger{Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)},
	})
	return n, err
}

// Leads returns what is closed when this member leads.
func (n *Node) Leads() <-chan struct{} { return n.leads }

// Ask has the member that leads decide on a body of 8 bytes or more, and returns when that is committed and synced. The first eight
// bytes are changed.
func (n *Node) Ask(ctx context.Context, body []byte) error {
	a := ask{body: body, done: make(chan struct{})}
	select {
	case n.asks <- a:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
		return errors.New("the bare core has not decided for a minute")
	}
}
