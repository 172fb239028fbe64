package core

import (
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// A node that becomes a member tells its authority, and its member machine, whom gossip has suggested before.
func TestANewMemberKnowsTheSuggestion(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: []txlog.Member{{Name: "n1", Store: 1}, {Name: "n2", Store: 9}}}.With()
	disk := store.NewMemory(2, g)
	load := func() Has {
		has, err := Load(disk, kv.New)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	core, err := New(Settings{Self: "n2", Key: key, New: kv.New}, load())
	if err != nil {
		t.Fatal(err)
	}
	core.Step(0, Suggested{Name: "n2"})
	id := g.ID()
	message := append(append([]byte{1, 2}, id[:]...), 1, 2, 1, 1) // from store 1 to store 2
	if out := core.Step(0, Received{From: "n1", Body: wire.Quorum{Bytes: message}}); !out.Load || core.q != nil {
		t.Fatalf("the node does not become a member: %+v", out)
	}
	core.take(Loaded{Has: load()})
	said := slices.IndexFunc(core.requests, func(in majority.Input) bool { s, is := in.(majority.Suggested); return is && s.Name == "n2" })
	asked := slices.IndexFunc(core.requests, func(in majority.Input) bool { _, is := in.(majority.Campaign); return is })
	if said < 1 || asked < said { // first what the leader has said: while it is heard nobody campaigns
		t.Errorf("the authority is told %+v", core.requests)
	}
}
