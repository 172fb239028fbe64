package chunksync

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// What rots on a follower's disk is noticed when it is read, never served, and pushed again.
func TestRotIsRepaired(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	one.lead(1)
	big := bytesOf(5, 2*ChunkSize)
	one.mustPut("f", big, 1)
	h := HashOf(big[:ChunkSize])
	if err := os.WriteFile(filepath.Join(two.dir, chunkFolder, h.String()), []byte("rotten"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := two.content("f"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a rotten chunk: %v", err)
	}
	two.until("it is whole again", func() bool { return two.has("f", big) })
}

// A follower that has lost some of what it holds does not say what it holds: what it
// says could become everybody's.
func TestADamagedFollowerHasNoVote(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	_ = first.end()
	one.cut()
	if err := two.store.discard(HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	three.lead(2)
	two.until("it is asked", func() bool { return two.store.Keeper().Promised.Epoch == 2 })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errEnough)
	defer cancel()
	if _, err := three.m.Put(ctx, "g", bytes.NewReader(nil), 0); !errors.Is(err, ErrTakingOver) {
		t.Errorf("with a damaged follower alone: %v", err)
	}
	if err := two.m.Lead(ctx, fence.Standalone("s", "n2"), tokenOf(3, "n2")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged node leads: %v", err)
	}
}

// A leader whose disk has lost something resigns, and its successor makes it whole.
func TestARottenLeaderResigns(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	first := one.lead(1)
	big := bytesOf(5, 2*ChunkSize)
	one.mustPut("f", big, 1)
	if err := os.WriteFile(filepath.Join(one.dir, chunkFolder, HashOf(big[:ChunkSize]).String()), []byte("rotten"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := one.content("f"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a rotten chunk: %v", err)
	}
	first.ends(t)
	if !errors.Is(first.err, ErrDamaged) {
		t.Errorf("it ended with %v", first.err)
	}
	two.lead(2)
	one.until("it is whole again", func() bool { return one.has("f", big) })
}

// A node alone has nobody to get anything from: it goes on without what has rotted.
func TestARottenNodeAlone(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	first := n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	n.mustPut("g", []byte("2"), 0)
	if err := n.store.discard(HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	n.mustPut("h", []byte("3"), 0)
	_ = first.end()
	n.lead(2)
	n.mustPut("i", []byte("4"), 0)
	if _, err := n.m.Remove(t.Context(), "f", 0); err != nil || !n.has("g", []byte("2")) || !n.store.Whole() {
		t.Errorf("removing what has rotted: %v", err)
	}
}
