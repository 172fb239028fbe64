package sender

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q5: C5 of the review: after a restore the store knows of no grant, and one was given. Without the rule the user would hear
// Reverted of what may land.
func TestARestoredIntentIsHeld(t *testing.T) {
	t.Parallel()
	lines := []string{
		"submit k1 make x", "stored", "accepted a", "backup", "assemble a k1", "ask a k1", "stored", "restore", "judged", "cancel k1", "stored", "judged",
	}
	if done := newStory(t).play(lines...); len(done) > 0 {
		t.Errorf("it does %q, want nothing", done)
	}
}

// C2 of the review: a coordinator says that somebody else creates a state, whose number is used. Read with that word the
// ledger would have killed the grant, which can land.
func TestACoordinatorDoesNotSayWhoCreatesAState(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	chain := model.New(s.contract, model.Fake{})
	s.play("submit k1 make x", "stored", "accepted a", "submit k2 move x y", "stored", "accepted a", "submit k3 make z", "stored", "accepted a", "assemble a k1 k3")
	for i, whole := range s.wholes {
		e := ledger.Entry{Attempt: whole.Attempt, Grant: ledger.Grant{Assembled: s.attempts[i], Coordinator: "a", ValidUntil: 100}}
		e.Grant.Signature = model.Fake{}.Sign(self, model.Fake{}.Granted(s.contract, e.Grant))
		e.Endorsements = []ledger.Endorsement{{Member: 1, Signature: model.Fake{}.Sign("a", s.attempts[i])}}
		if f := chain.Block(ledger.Sent{By: "a", Entries: []ledger.Entry{e}}); f[0].Skipped != ledger.Taken {
			t.Fatalf("want the attempt taken, got %v", f)
		}
	}
	s.play("block k1=A1", "block k3=A2")
	x := domain.State{ID: model.Fake{}.State(s.attempts[0], 0), Creator: s.wholes[1].Attempt.Intent, Assembled: ledger.Hash{66}, Secret: s.wholes[0].Outputs[0]}
	msg := s.message("assemble", "a", []string{"k2"})
	body := msg.Body.(wire.Assemble)
	body.Context.Created = []domain.State{x}
	msg.Body = body
	s.step(Received{From: "a", Message: msg})
	s.play("ask a k2")
	stored := s.stores[len(s.stores)-1].Grants
	if len(stored) != 1 || len(stored[0].Needs) != 1 {
		t.Fatalf("want one grant of k2 with one need, got %v", stored)
	}
	if end := grants.Kills(chain, stored[0].Given); end != grants.Alive {
		t.Errorf("the grant is %v, want alive", end)
	}
}

// A state whose creator the node does not know kills nothing.
func TestAnUnknownCreatorKillsNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 move x y", "stored", "accepted a")
	msg := s.message("assemble", "a", []string{"k1"})
	msg.Body = wire.Assemble{Items: msg.Body.(wire.Assemble).Items, Context: wire.Context{Version: 1, Created: []domain.State{{
		ID: ledger.StateID{5}, Creator: ledger.Intent{Owner: "b"}, Assembled: ledger.Hash{1}, Secret: domain.Secret{Data: []byte("x")},
	}}}}
	s.step(Received{From: "a", Message: msg})
	s.play("ask a k1")
	got := s.stores[0].Grants[0].Needs
	if want := []grants.Need{{State: ledger.StateID{5}}}; !slices.Equal(got, want) {
		t.Errorf("it needs %v, want %v", got, want)
	}
}

// C3 of the review: what leaves keeps the ledger's form, and no two outputs have the same salt.
func TestAttemptsAreWellFormed(t *testing.T) {
	t.Parallel()
	ids := []ledger.StateID{{3}, {1}, {2}, {1}}
	a := draftOf(domain.Draft{Inputs: ids, Reads: []ledger.StateID{{9}, {2}, {4}, {9}}})
	if !a.WellFormed() || len(a.Inputs) != 3 || len(a.Reads) != 2 {
		t.Errorf("got %v and %v, want three inputs and two reads, rising and apart", a.Inputs, a.Reads)
	}
	salts := map[[16]byte]bool{}
	for i := range 3 {
		for n := range uint64(3) {
			salts[saltOf([32]byte{1}, wire.Incarnation{byte(i)}, ledger.Sequence{Counter: n}, n, i)] = true
			salts[saltOf([32]byte{2}, wire.Incarnation{byte(i)}, ledger.Sequence{Counter: n}, n, i)] = true
			salts[saltOf([32]byte{2}, wire.Incarnation{byte(i)}, ledger.Sequence{Counter: n}, n+7, i)] = true
		}
	}
	if len(salts) != 27 {
		t.Errorf("%d salts are different, want 27", len(salts))
	}
}

// I10: a request that a later one has overtaken gets a refusal, and leaves the newer attempt alone. So do requests of
// strangers and of too much at once.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a")
	old := s.message("assemble", "a", []string{"k1"})
	s.play("assemble a k1")
	refused := func(from ledger.Account, msg wire.Message, want string) {
		t.Helper()
		if done := s.step(Received{From: from, Message: msg}); len(done) != 1 || done[0] != want {
			t.Errorf("got %q, want %q", done, want)
		}
	}
	refused("a", old, "to a: rejected: out of step")
	if done := s.play("ask a k1"); len(done) != 1 || !strings.Contains(done[0], "store [grant of k1 A1") {
		t.Errorf("the newer attempt is not granted: %q", done)
	}
	refused(self, s.message("assemble", "b", []string{"k1"}), "to self: rejected: not a member")
	refused("a", s.message("assemble", "a", slices.Repeat([]string{"k1"}, 65)), "to a: rejected: malformed")
	nobody := s.message("ask", "a", []string{"k1"})
	nobody.Body = wire.AskGrant{}
	refused("a", nobody, "to a: rejected: malformed")
	for _, body := range []wire.Body{wire.Assemble{}, wire.AskGrant{By: "a"}, wire.Dispatched{}} { // nobody waits for an answer
		if done := s.step(Received{From: "a", Message: wire.Message{Body: body}}); len(done) > 0 {
			t.Errorf("%T without a number is answered: %q", body, done)
		}
	}
}

// An idle machine answers too, and remembers nothing of it (I9, I10).
func TestAnIdleMachineAnswers(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.seqs["k9"] = ledger.Sequence{Lineage: 9, Counter: 9}
	for line, want := range map[string]string{
		"assemble a k9": "to a: assembled :ended", "ask a k9": "to a: granted :ended", "dispatched a k9=A1": "to a: noted",
		"returned a moved k9": "", "list a k9": "", "accepted a": "", "rejected a busy": "", "beat a k9": "", "block k9=other": "", "wait 60s": "",
	} {
		if done := strings.Join(s.play(line), "; "); done != want || !s.m.Idle() || s.m.work != nil {
			t.Errorf("%s: %q, want %q; idle %v", line, done, want, s.m.Idle())
		}
	}
}

// Nothing that the network or the loop can say makes the machine panic.
func TestNothingPanics(t *testing.T) {
	t.Parallel()
	number := wire.RequestID{Incarnation: wire.Incarnation{1}, Number: 1}
	bodies := []wire.Body{
		nil, wire.Delegate{}, wire.Accepted{}, wire.Assemble{}, wire.Assemble{Items: make([]wire.Step, 2), Context: wire.Context{Base: 5}}, wire.Assembled{},
		wire.Assemble{Items: make([]wire.Step, 1), Context: wire.Context{Created: make([]domain.State, 2), Locked: make([]ledger.StateID, 2), Gone: make([]ledger.StateID, 3)}},
		wire.Endorse{}, wire.AskGrant{By: "a", Items: make([]wire.GrantStep, 2)}, wire.Granted{}, wire.Dispatched{Items: make([]wire.Handed, 1)}, wire.Noted{},
		wire.Returned{Items: make([]wire.Step, 1), Why: 99}, wire.AskList{}, wire.List{}, wire.Rejected{Why: 99}, wire.AskHandover{}, wire.Attempts{},
	}
	inputs := []Input{
		nil, 7, Stored{ID: 99}, Judged{Number: 5, Answers: make([]Answer, 2)}, Twice{}, Cancel{}, ledger.Rewind{}, ledger.Rewind{To: 99}, ledger.Block{}, ledger.Block{Number: 50}, ledger.Block{Number: 3},
		Pulse{}, Pulse{From: "a"}, Tick{}, Submit{}, Received{},
	}
	for _, from := range []ledger.Account{"", "a", self, "stranger"} {
		for _, body := range bodies {
			for _, request := range []wire.RequestID{{}, number, {Number: 1}, {Number: 1 << 63}} {
				inputs = append(inputs, Received{From: from, Message: wire.Message{Request: request, Body: body}})
			}
		}
	}
	for _, busy := range []bool{false, true} {
		s := newStory(t)
		s.m.cfg.Watch = nil
		if busy {
			s.play("submit k1 fail", "submit k2 make x", "stored", "stored", "accepted a", "accepted a", "assemble a k2", "ask a k2")
		}
		for _, in := range inputs {
			s.m.Step(s.now, in)
		}
	}
}

// What a hostile context does to a book stays in the overlay.
func TestContextsAreApart(t *testing.T) {
	t.Parallel()
	var _ Book = (*book.Book)(nil)
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored", "block k1=A1", "submit k2 move x y", "stored", "accepted a")
	locked := model.Fake{}.State(s.attempts[0], 0)
	msg := s.message("assemble", "a", []string{"k2"})
	msg.Body = wire.Assemble{Items: msg.Body.(wire.Assemble).Items, Context: wire.Context{Version: 1, Locked: []ledger.StateID{locked}}}
	if done := s.step(Received{From: "a", Message: msg}); done[0] != "to a: assembled k2:conflict" {
		t.Errorf("a state that is locked is used: %q", done)
	}
	why := ""
	for _, one := range s.m.Snapshot() {
		why += one.Why
	}
	if !strings.HasSuffix(why, "beside what 0x61 says is in use") { // its user must not take it for the ledger's word
		t.Errorf("the reason is a coordinator's word, and says %q", why)
	}
	msg = s.message("assemble", "a", []string{"k2"})
	msg.Body = wire.Assemble{Items: msg.Body.(wire.Assemble).Items, Context: wire.Context{Version: 2, Base: 1}, Withheld: []ledger.StateID{locked}}
	if done := s.step(Received{From: "a", Message: msg}); done[0] != "to a: assembled k2:conflict" {
		t.Errorf("a state that is locked is used: %q", done)
	}
	msg = s.message("assemble", "a", []string{"k2"})
	msg.Body = wire.Assemble{Items: msg.Body.(wire.Assemble).Items, Context: wire.Context{Version: 3, Base: 2, Gone: []ledger.StateID{locked}}, Withheld: []ledger.StateID{locked}}
	if done := s.step(Received{From: "a", Message: msg}); done[0] != "to a: assembled k2:conflict" {
		t.Errorf("a state that is withheld is used: %q", done)
	}
	msg = s.message("assemble", "a", []string{"k2"})
	msg.Body = wire.Assemble{Items: msg.Body.(wire.Assemble).Items, Context: wire.Context{Version: 4, Base: 3}}
	if done := s.step(Received{From: "a", Message: msg}); done[0] != "to a: assembled k2:A2" {
		t.Errorf("a state that is free again is not used: %q", done)
	}
}
