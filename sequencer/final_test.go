package sequencer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// strict is a ledger that takes no question about an intent of nobody, as one with addresses does.
type strict struct{ Ledger }

func (s strict) Final(ctx context.Context, intents []ledger.Intent, states []ledger.StateID) (ledger.Final, error) {
	for _, in := range intents {
		if in.Owner == "" {
			return ledger.Final{}, errors.New("nobody owns an intent")
		}
	}
	return s.Ledger.Final(ctx, intents, states)
}

// Q2: a need whose creator the owner does not know kills nothing, so the ledger is not asked for it. Else a ledger that
// refuses the question is asked again for ever, and every intent that is judged with it never ends.
func TestANeedWithoutACreatorIsNotAskedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	declared := ledger.Contract{Address: "k"}
	c := &contract{
		n:   &Node{ctx: ctx, cfg: Config{Log: slog.New(slog.DiscardHandler)}},
		set: &Contract{Declared: declared, Ledger: strict{NewChain(declared, ledger.Plain{})}},
	}
	own := ledger.Intent{Owner: "north", Sequence: ledger.Sequence{Lineage: 1, Counter: 1}}
	given := ledger.Given{Intent: own, Assembled: ledger.Hash{1}, ValidUntil: 9, Needs: []ledger.Need{{State: ledger.StateID{2}}}}
	read := false
	c.final(func(f ledger.Final) {
		read = true
		if end := f.Kills(given); end != ledger.Alive {
			t.Errorf("the grant is %v, want it alive", end)
		}
	}, []ledger.Given{given})
	if !read {
		t.Error("the ledger was not read")
	}
}
