package core

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// V7: a member that had to follow began with what its store called decided, and the store says so later than the member has applied it.
// The machine of the copy goes on where the member is: else it refuses each entry that comes, has nothing for others, and believes
// the members of that time, for ever.
func TestTheCopyGoesOnWhereTheMemberIs(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(core *Core, has Has){
		"it has found a leader": func(core *Core, has Has) {
			core.copy, core.seeking = has.Copy, true
			core.found()
		},
		"its copies are made anew": func(core *Core, has Has) {
			core.follower(follower.Yield{})
			core.missed(has)
		},
		"the next entry is decided": func(core *Core, has Has) {
			core.follower(follower.Yield{})
			core.copy = has.Copy
			core.pass([]txlog.Record{lastOf(has.Copy)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, _, records, s := fortyRecords(t)
			wrote := func(more []txlog.Record) Has {
				if err := s.Write(store.Step{Records: more}); err != nil {
					t.Fatal(err)
				}
				has, err := Load(s, kv.New)
				if err != nil {
					t.Fatal(err)
				}
				has.Stored = majority.Fresh(s.Genesis())
				return has
			}
			old := wrote(records[:20])
			core := coreOf(t, key, s)
			core.told = 30
			core.follower(follower.Follow{Base: old.Copy})
			does(core, wrote(records[20:30]))
			out := core.Step(Round, Tick{})
			if at := core.f.Snapshot().At; at.Index != 30 || at.Hash != records[29].Hash() {
				t.Errorf("it is at %d", at.Index)
			}
			if slices.ContainsFunc(out.Acts, func(a Act) bool { e, is := a.(Tell); _, refused := e.Event.(Refused); return is && refused }) {
				t.Errorf("it refuses: %+v", out.Acts)
			}
		})
	}
}

// While a node follows, what its member applies does not end that: it would never come as far as its leader needs it.
func TestAMemberThatFollowsGoesOnFollowing(t *testing.T) {
	t.Parallel()
	key, _, records, s := fortyRecords(t)
	if err := s.Write(store.Step{Records: records[:20]}); err != nil {
		t.Fatal(err)
	}
	core := coreOf(t, key, s)
	has, err := Load(s, kv.New)
	if err != nil {
		t.Fatal(err)
	}
	core.behind = &txlog.Position{Index: 39}
	core.follower(follower.Follow{Base: has.Copy})
	if err := s.Write(store.Step{Records: records[20:30]}); err != nil {
		t.Fatal(err)
	}
	if has, err = Load(s, kv.New); err != nil {
		t.Fatal(err)
	}
	core.copy = has.Copy
	core.pass(records[29:30])
	core.follower(follower.Applied{Records: records[20:21]}) // which only a machine that follows leaves alone
	if at := core.f.Snapshot().At; at.Index != 20 {
		t.Errorf("it is at %d", at.Index)
	}
}

// A leader is found before the store has been read for the search: then nothing is followed.
func TestALeaderIsFoundWhileTheStoreIsRead(t *testing.T) {
	t.Parallel()
	key, _, records, s := fortyRecords(t)
	if err := s.Write(store.Step{Records: records[:20]}); err != nil {
		t.Fatal(err)
	}
	core := coreOf(t, key, s)
	for range seeks {
		core.seek()
	}
	has, err := Load(s, kv.New)
	if err != nil || !core.seeking {
		t.Fatalf("it does not search: %v", err)
	}
	core.found()
	core.loaded(has)
	core.pass(records[20:21])
	if at := core.f.Snapshot().At; at.Index != 21 {
		t.Errorf("what its leader decides is left alone: it is at %d", at.Index)
	}
}

func lastOf(c *txlog.Copy) txlog.Record {
	last, _ := c.Last()
	return last
}
