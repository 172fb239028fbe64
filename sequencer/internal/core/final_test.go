package core

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q2: a need whose creator the owner does not know kills nothing, so the ledger is not asked for it. Else a ledger that
// refuses the question is asked again for ever, and every intent that is judged with it never ends.
func TestANeedWithoutACreatorIsNotAskedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "north", declared("north"))
	own := ledger.Intent{Owner: "north", Sequence: ledger.Sequence{Lineage: 1, Counter: 1}}
	given := grants.Given{Intent: own, Assembled: ledger.Hash{1}, ValidUntil: 9, Needs: []grants.Need{{State: ledger.StateID{2}}}}
	read := false
	d.readFinal([]grants.Given{given}, func(f ledger.View) {
		read = true
		if end := grants.Kills(f, given); end != grants.Alive {
			t.Errorf("the grant is %v, want it alive", end)
		}
	})
	asked := must[ReadFinal](d)
	if !slices.Equal(asked.Intents, []ledger.Intent{own}) || len(asked.States) > 0 || !asked.Insist {
		t.Errorf("it asks for %+v", asked)
	}
	if d.step(Answered{ID: asked.ID, Final: asOf{}}); !read {
		t.Error("the ledger was not read")
	}
}
