package majority

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// BenchmarkDecide is how long five members in one process take for a record, with 64 of them on their way and no disk; bare is
// the library alone with the same bytes.
func BenchmarkDecide(b *testing.B) {
	const inFlight = 64
	b.Run("machine", func(b *testing.B) {
		g := newWorld(b, 1, 5).genesis
		members := map[string]*Machine{}
		for _, of := range g.Members {
			m, err := New(Config{Self: of.Name, Store: of.Store, Log: g.ID(), Stored: Fresh(g), Lease: time.Second, Look: func([]txlog.Record) error { return nil }})
			if err != nil {
				b.Fatal(err)
			}
			members[of.Name] = m
		}
		var term, committed uint64
		type letter struct {
			from string
			m    Message
		}
		var post []letter
		step := func(name string, in Input) {
			out := members[name].Step(0, in)
			for _, m := range out.Messages {
				post = append(post, letter{name, m})
			}
			for _, f := range out.Facts {
				switch f := f.(type) {
				case authority.Leads:
					term = f.Term
				case authority.Committed:
					if name == "a" {
						committed = f.Index
					}
				}
			}
		}
		deliver := func() {
			for len(post) > 0 {
				l := post[0]
				post = post[1:]
				step(l.m.To, Received{From: l.from, Bytes: l.m.Bytes})
			}
		}
		step("a", Campaign{})
		deliver()
		for range missedBeats + 1 {
			step("a", Tick{})
			deliver()
		}
		at := g.Start()
		b.ResetTimer()
		for n := 0; n < b.N; n += inFlight {
			var batch Batch
			for range inFlight {
				r, err := txlog.Seal(txlog.Entry{Log: g.ID(), Index: at.Index + 1, Term: term, Prev: at.Hash, Kind: txlog.Executed, Leader: "a", GoalID: "a goal", Goal: make([]byte, 100), Diff: make([]byte, 100)})
				if err != nil {
					b.Fatal(err)
				}
				at = r.Position()
				batch = append(batch, Append{Record: r})
			}
			step("a", batch)
			deliver()
			if committed != at.Index {
				b.Fatalf("%d of %d are committed", committed, at.Index)
			}
		}
	})
	b.Run("bare", func(b *testing.B) { bare(b, inFlight) })
}

func bare(b *testing.B, inFlight int) {
	nodes, disks := map[uint64]*raft.RawNode{}, map[uint64]*raft.MemoryStorage{}
	voters := []uint64{1, 2, 3, 4, 5}
	for _, id := range voters {
		s := raft.NewMemoryStorage()
		if err := s.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: voters}}}); err != nil {
			b.Fatal(err)
		}
		n, err := raft.NewRawNode(&raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: s, MaxSizePerMsg: mostEntries, MaxInflightMsgs: 256, Logger: silent{}})
		if err != nil {
			b.Fatal(err)
		}
		nodes[id], disks[id] = n, s
	}
	committed := 0
	run := func() {
		for busy := true; busy; {
			busy = false
			for _, id := range voters {
				for nodes[id].HasReady() {
					busy = true
					rd := nodes[id].Ready()
					_ = disks[id].Append(rd.Entries)
					for _, m := range rd.Messages {
						body, err := proto.Marshal(m)
						if err != nil {
							b.Fatal(err)
						}
						to := &pb.Message{}
						if proto.Unmarshal(body, to) == nil {
							_ = nodes[m.GetTo()].Step(to)
						}
					}
					if id == 1 {
						committed += len(rd.CommittedEntries)
					}
					nodes[id].Advance(rd)
				}
			}
		}
	}
	_ = nodes[1].Campaign()
	run()
	b.ResetTimer()
	for n := 0; n < b.N; n += inFlight {
		want := committed + inFlight
		for range inFlight {
			_ = nodes[1].Propose(make([]byte, 320))
		}
		run()
		if committed != want {
			b.Fatalf("%d of %d are committed", committed, want)
		}
	}
}
