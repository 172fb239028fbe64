package bare_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bare"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A ceiling that does not decide would be too good: five members do, and a majority has stored it.
func TestFiveDecide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	net := memory.New(1)
	names := []string{"a", "b", "c", "d", "e"}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, len(names))
	var nodes []*bare.Node
	for i, name := range names {
		line, err := net.Join(name).Open("log")
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		s := store.NewMemory(uint64(i+1), txlog.Genesis{Namespace: "bare", Machine: "none/1"}.With())
		n, err := bare.New(bare.Config{Names: names, Self: i, Store: s, Line: line})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
		go func() { ended <- n.Run(running) }()
	}
	select {
	case <-nodes[0].Leads():
	case <-ctx.Done():
		t.Error("nobody leads")
	}
	for range 20 {
		if err := nodes[0].Ask(ctx, make([]byte, 100)); err != nil {
			t.Error(err)
		}
	}
	stop()
	var stored []int
	for range names {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, n := range nodes {
		view := n.Store.View()
		stored = append(stored, int(view.NextSlot-view.FirstSlot))
	}
	if stored[0] < 20 || stored[1]+stored[2]+stored[3]+stored[4] < 40 {
		t.Errorf("20 bodies were decided on, and the members have %v entries: want a majority with all of them", stored)
	}
}
