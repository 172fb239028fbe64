package core

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q14: contents that an earlier start had in memory are read from the store. A read that fails once keeps them from nobody.
func TestWhatIsSharedIsReadAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "bob"))
	d.offers.shareContents(sender.Share{Assembled: ledger.Hash{1}, Block: 9})
	d.step(Answered{ID: must[ReadAttempts](d).ID, Err: errors.New("the connection is lost")})
	d.core.now += offerEvery
	d.step(Tick{})
	d.step(Answered{ID: must[ReadAttempts](d).ID, Attempts: []wire.Whole{{}}})
	d.step(Tick{})
	if sent := must[Send](d); sent.To != "bob" || sent.Message.Body.Kind() != wire.KindAttempts {
		t.Errorf("%s gets %v, want bob to get the contents", sent.To, sent.Message)
	}
}
