//go:build unix

package board

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t testing.TB, s Shape) (context.Context, *Board, *Member) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s.Program, s.Command, s.Dir, s.Members = program, command, t.TempDir(), 3
	b, err := Open(ctx, s)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	leader, err := b.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, b, leader
}

// Goals of several clients are in the log of processes, of which the leader is killed and comes back.
func TestMembersAreProcesses(t *testing.T) {
	t.Parallel()
	ctx, b, leader := open(t, Shape{})
	other := b.Other(leader)
	if size, err := leader.RecordSize(ctx); err != nil || size < ValueBytes {
		t.Errorf("an entry has %d bytes, %v; its value alone has %d", size, err, ValueBytes)
	}
	var group sync.WaitGroup
	for client := range 4 {
		group.Go(func() {
			if err := leader.Put(ctx, fmt.Sprint("goal-", client), Goal(client, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	before, err := b.Sent()
	if err != nil || before.Messages == 0 || before.Bytes < 4*ValueBytes {
		t.Errorf("the members have sent %+v, %v: all goals at least", before, err)
	}
	leader.Kill()
	if err := leader.Put(ctx, "to the dead", Goal(0, 1)); err == nil {
		t.Error("a member that was killed has taken a goal")
	}
	if err := other.Put(ctx, "after it", []byte(`{"op":"add","key":"after","by":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := leader.Again(); err != nil {
		t.Fatal(err)
	}
	if err := b.Agree(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := leader.Status()
	if err != nil || s.Position.Index < 7 {
		t.Errorf("the one that came back is at %d, %v: six goals were committed before it, and one when it was dead", s.Position.Index, err)
	}
	if err := leader.Fresh(ctx, []byte(`{"get":"after"}`)); err != nil {
		t.Error(err)
	}
	if err := leader.Query(ctx, []byte(`not a query`)); err == nil {
		t.Error("a member has answered what is no query")
	}
}

// A core that keeps nothing, or asks nobody, would be too good a ceiling.
func TestTheBareCoreIsProcessesToo(t *testing.T) {
	t.Parallel()
	ctx, b, leader := open(t, Shape{Bare: true})
	for range 10 {
		if err := leader.Put(ctx, "", make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := b.Sent()
	if err != nil || sent.Bytes < 2*10*100 {
		t.Errorf("the members have sent %+v, %v: ten bodies to both others at least", sent, err)
	}
	if err := leader.Query(ctx, []byte(`{"get":"x"}`)); err == nil {
		t.Error("the bare core has answered a query")
	}
	if len(b.PIDs()) != 3 {
		t.Errorf("there are %d processes", len(b.PIDs()))
	}
}

// Why a member does not start is said, not waited for.
func TestAMemberThatDoesNotStart(t *testing.T) {
	t.Parallel()
	_, b, _ := open(t, Shape{})
	m := b.Other(nil)
	m.Kill()
	if err := os.Remove(m.file); err != nil {
		t.Fatal(err)
	}
	if err := m.Again(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want that there is no such file", err)
	}
}

// Followers have each entry, over connections of their own, and say when.
func TestFollowersHaveEachEntry(t *testing.T) {
	t.Parallel()
	const many = 12
	ctx, b, leader := open(t, Shape{Followers: many})
	for i := range 3 {
		took, err := b.Follow(ctx, leader, fmt.Sprint("news-", i), Goal(0, i))
		if err != nil || len(took) != many || slices.Min(took) <= 0 {
			t.Fatalf("entry %d took %v, %v; want a time of each of %d followers", i, took, err, many)
		}
	}
}

// A process that may open few files has few followers.
func TestFitting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files        uint64
		wanted, want int
	}{{20_000, 500, 500}, {1024, 500, 41}, {100, 500, 0}, {200, 500, 0}, {1 << 63, 500, 500}, {20_000, -1, 0}} {
		if got := fitting(c.files, c.wanted); got != c.want {
			t.Errorf("with %d files %d followers fit, of %d; want %d", c.files, got, c.wanted, c.want)
		}
	}
}

// BenchmarkGoals has clients of a log of keys and values count, and as many of one in Prolog, in turn: each goal of Prolog takes a fact out of a thousand and puts
// another one in. Both logs have three members, each a process with a file.
func BenchmarkGoals(b *testing.B) {
	const clients, turn, counters = 64, 2000, 1000
	logs := []struct {
		shape  Shape
		begins []byte
		goal   string
		leader *Member
		took   time.Duration
	}{
		{shape: Shape{}, goal: `{"op":"add","key":"visits/%[1]d"}`},
		{shape: Shape{Prolog: true}, begins: fmt.Appendf(nil, "forall(between(1, %d, K), assertz(visits(K, 0)))", counters),
			goal: "retract(visits(%[1]d, N)), M is N + 1, assertz(visits(%[1]d, M))"},
	}
	var ctx context.Context
	for i := range logs {
		l := &logs[i]
		ctx, _, l.leader = open(b, l.shape) //nolint:fatcontext // each is the benchmark's own
		if l.begins == nil {
			continue
		}
		if err := l.leader.Put(ctx, "begins", l.begins); err != nil {
			b.Fatal(err)
		}
	}
	for round := 0; b.Loop(); round++ {
		for j := range logs {
			l := &logs[(round+j)%2]
			var group sync.WaitGroup
			began := time.Now()
			for client := range clients {
				group.Go(func() {
					for n := client; n < turn; n += clients {
						if err := l.leader.Put(ctx, fmt.Sprint(round, "-", n), fmt.Appendf(nil, l.goal, 1+n*7919%counters)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			l.took += time.Since(began)
		}
	}
	b.ReportMetric(float64(turn*b.N)/logs[0].took.Seconds(), "goals/s-kv")
	b.ReportMetric(float64(turn*b.N)/logs[1].took.Seconds(), "goals/s")
	b.ReportMetric(float64(logs[0].took)/float64(logs[1].took), "of-kv")
}
