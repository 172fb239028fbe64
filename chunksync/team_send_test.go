package chunksync

import (
	"context"
	"math"
	"net/http"
	"testing"

	"github.com/conchhq/conch/fence"
)

// loopOf is a leadership of the node that does only what the test has it do.
func (n *node) loopOf(epoch int64) (*loop, *fence.Latch) {
	n.t.Helper()
	gate, latch := fence.New("s", nil)
	token := tokenOf(epoch, n.id)
	latch.Open(token, 0, math.MaxInt64)
	reign := ReignOf(token)
	if _, err := n.store.hear(reign, n.id); err != nil {
		n.t.Fatal(err)
	}
	over, end := context.WithCancelCause(n.t.Context())
	l := &loop{
		Config: n.m.cfg, gate: gate, token: token, reign: reign, end: end, over: over,
		client: client{cfg: n.m.cfg, reign: reign}, machine: NewMachine(n.m.cfg.settings()), sending: map[string]sending{},
	}
	n.t.Cleanup(l.dropAll)
	return l, latch
}

// One piece that does not arrive leaves the others of its catalog where they are, though
// the leader's own has gone on: else a whole leader would take itself for damaged.
func TestAFailedPieceLeavesTheOthers(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	first, second := []byte("first"), []byte("second")
	unpin := one.store.pin(HashOf(first), HashOf(second))
	for _, content := range [][]byte{first, second} {
		if err := one.store.add(HashOf(content), content); err != nil {
			t.Fatal(err)
		}
	}
	both := File{Size: ChunkSize + 6, Chunks: []Hash{HashOf(first), HashOf(second)}}
	c := Catalog{Reign: l.reign, Seq: 1, Files: map[string]File{"f": both}}
	if _, _, err := one.store.take(c, one.id, false); err != nil {
		t.Fatal(err)
	}
	unpin()
	if in, ok := l.perform(t.Context(), Offer{two.id, c.Version()}).(Missing); !ok || len(in.Chunks) != 2 {
		t.Fatalf("offered: %+v", in)
	}
	full := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	two.block.Store(&full)
	if in, ok := l.perform(t.Context(), Send{two.id, HashOf(first)}).(Failed); !ok {
		t.Fatalf("the first: %+v", in)
	}
	two.block.Store(nil)
	if _, _, err := one.store.take(c.with("f", nil), one.id, false); err != nil {
		t.Fatal(err)
	}
	if in, ok := l.perform(t.Context(), Send{two.id, HashOf(second)}).(Sent); !ok {
		t.Errorf("the second: %+v", in)
	}
	if l.over.Err() != nil {
		t.Errorf("the leadership ended with %v", context.Cause(l.over))
	}
	// The next offer is of what there is now, and lets go of what it was.
	if in, ok := l.perform(t.Context(), Offer{two.id, Version{1, 2}}).(Took); !ok {
		t.Errorf("offered anew: %+v", in)
	}
}
