package core

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// A copy is made anew from the store, and has come further than what was told, by records that the authority does not have any more: it is
// told how far. Else a stream would miss them without a word, and the node the members that they have changed.
func TestACopyMadeAnewIsTold(t *testing.T) {
	t.Parallel()
	key, _, records, s := fortyRecords(t)
	core := coreOf(t, key, s)
	if err := s.Write(store.Step{Records: records}); err != nil {
		t.Fatal(err)
	}
	has, err := Load(s, kv.New)
	if err != nil {
		t.Fatal(err)
	}
	has.Stored = majority.Fresh(s.Genesis())
	core.missed(has)
	out := core.Step(Round, Tick{})
	if !slices.Contains(out.Acts, Act(Tell{Event: Fetched{Index: 40}})) {
		t.Errorf("it says %+v", out.Acts)
	}
}
