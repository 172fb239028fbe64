//go:build unix

package board

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, bare bool) (context.Context, *Board) {
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
	b, err := Open(ctx, Shape{Program: program, Command: command, Dir: t.TempDir(), Members: 3, Bare: bare})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, b
}

// Goals of several clients are in the log of processes, of which the leader is killed and comes back.
func TestMembersAreProcesses(t *testing.T) {
	t.Parallel()
	ctx, b := open(t, false)
	leader := b.Leader()
	other := b.Other(leader)
	if size, err := leader.RecordSize(ctx); err != nil || size < valueBytes {
		t.Errorf("an entry has %d bytes, %v; its value alone has %d", size, err, valueBytes)
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
	if err != nil || before.Messages == 0 || before.Bytes < 4*valueBytes {
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
	ctx, b := open(t, true)
	leader := b.Leader()
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
	_, b := open(t, false)
	m := b.Other(nil)
	m.Kill()
	if err := os.Remove(m.file); err != nil {
		t.Fatal(err)
	}
	if err := m.Again(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want that there is no such file", err)
	}
}
