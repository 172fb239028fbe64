package host

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
	"github.com/conchhq/conch/txlog/wire"
)

// Whom gossip suggests is told when that changes alone: a core that is made anew is told it again, unless a newer word waits (B15).
func TestASuggestionOutlivesACore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, waits, want string }{
		"nobody":     {"", "", ""},
		"n1":         {"n1", "", "n1"},
		"newer":      {"n1", "n2", "n2"},
		"withdrawn":  {"n1", "-", ""},
		"only newer": {"", "n2", "n2"},
	} {
		h, _ := still(t)
		l := &loop{Host: h}
		if c.before != "" {
			h.core.Step(0, Suggested{Name: c.before})
		}
		switch c.waits {
		case "":
		case "-":
			h.Suggest("")
		default:
			h.Suggest(c.waits)
		}
		if err := l.restart(errors.New("a test")); err != nil {
			t.Fatal(err)
		}
		got, count := "", 0
		for _, in := range l.Take() {
			if s, is := in.(Suggested); is {
				got, count = s.Name, count+1
			}
		}
		if got != c.want || count > 1 {
			t.Errorf("%s: the new core is told %q, %d times, want %q", name, got, count, c.want)
		}
	}
}

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
	core, err := NewCore(Settings{Self: "n2", Key: key, New: kv.New}, load())
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
	said := slices.IndexFunc(core.requests, func(in quorum.Input) bool { s, is := in.(quorum.Suggested); return is && s.Name == "n2" })
	asked := slices.IndexFunc(core.requests, func(in quorum.Input) bool { _, is := in.(quorum.Campaign); return is })
	if said < 1 || asked < said { // first what the leader has said: while it is heard nobody campaigns
		t.Errorf("the authority is told %+v", core.requests)
	}
}
