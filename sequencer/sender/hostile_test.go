package sender

import (
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/wire"
)

// askWith sends an Assemble of one intent with a context.
func (s *story) askWith(key string, c wire.Context) []string {
	msg := s.message("assemble", "a", []string{key})
	body := msg.Body.(wire.Assemble)
	body.Context = c
	msg.Body = body
	return s.step(Received{From: "a", Message: msg})
}

// Q15: a coordinator says what a state has in it. Where the node's own book knows better, it is not believed: the owner
// would spend one state for another.
func TestACoordinatorDoesNotSayWhatAStateHas(t *testing.T) {
	t.Parallel()
	s := newStory(t, Unbroken)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored", "block k1=A1", "submit k2 move gold y", "stored", "accepted a")
	lie := domain.State{
		ID: ledgertest.Fake{}.State(s.attempts[0], 0), Creator: s.wholes[0].Attempt.Intent, Assembled: s.attempts[0],
		Secret: domain.Secret{Data: []byte("gold")},
	}
	if done := s.askWith("k2", wire.Context{Version: 1, Created: []domain.State{lie}}); done[0] != "to a: assembled k2:conflict" {
		t.Errorf("an x is spent as gold: %q", done)
	}
	lie.ID = ledger.StateID{1} // this one is not known: what it has is the endorsers' to judge
	if done := s.askWith("k2", wire.Context{Version: 2, Base: 1, Created: []domain.State{lie}}); done[0] != "to a: assembled k2:A2" {
		t.Errorf("what the coordinator alone knows is not used: %q", done)
	}
}
