package grants_test

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q2: C2 of the review: only the ledger ends a grant, and what it says stays true. Each case is one final block.
func TestOnlyTheLedgerEndsAGrant(t *testing.T) {
	t.Parallel()
	mine, maker := ledger.Intent{Owner: "o", Sequence: ledger.Sequence{Counter: 1}}, ledger.Intent{Owner: "p"}
	state := ledger.StateID{7}
	need := grants.Need{State: state, Creator: maker, Assembled: ledger.Hash{5}}
	given := grants.Given{Intent: mine, Assembled: ledger.Hash{1}, ValidUntil: 20, Needs: []grants.Need{need}}
	for name, c := range map[string]struct {
		view block
		want grants.End
	}{
		"nothing happened":              {block{number: 19}, grants.Alive},
		"its input is there":            {block{number: 19, landed: landings{maker: {5}}, there: state}, grants.Alive},
		"its last block is final":       {block{number: 20}, grants.Overdue},
		"it landed":                     {block{number: 19, landed: landings{mine: {1}, maker: {5}}}, grants.Landed},
		"it landed in its last block":   {block{number: 20, landed: landings{mine: {1}, maker: {5}}}, grants.Landed},
		"another attempt landed":        {block{number: 19, landed: landings{mine: {2}}}, grants.Superseded},
		"its intent was cancelled":      {block{number: 19, landed: landings{mine: {}}}, grants.Superseded},
		"its input was spent":           {block{number: 19, landed: landings{maker: {5}}}, grants.Spent},
		"its input will never be there": {block{number: 19, landed: landings{maker: {6}}, there: state}, grants.Orphaned},
		"its maker was cancelled":       {block{number: 19, landed: landings{maker: {}}}, grants.Orphaned},
	} {
		if got := grants.Kills(c.view, given); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

type landings map[ledger.Intent]ledger.Hash

// block is the state after one block.
type block struct {
	number uint64
	landed landings
	there  ledger.StateID
}

func (b block) Number() uint64 { return b.number }

func (b block) Landed(in ledger.Intent) (assembled, payload ledger.Hash, is bool) {
	assembled, is = b.landed[in]
	return assembled, payload, is
}

func (b block) Unspent(s ledger.StateID) bool { return s == b.there }
