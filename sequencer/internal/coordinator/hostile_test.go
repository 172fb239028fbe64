package coordinator

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// answers has the machine told what a member answers to its last request of a kind.
func (s *stage) answers(from ledger.Account, of wire.Kind, body wire.Body) []string {
	id := s.asked[keyOf(of, from)]
	return s.say(s.m.Step(s.now, Received{From: from, Message: wire.Message{Request: id, Body: body}}))
}

// An attempt is for the intent that was asked for: its owner is who has sent it, and its payload is the one that was
// delegated (Q3). Else a member would land another's intents, or another intent than its user's.
func TestAnAttemptForAnotherIntent(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*wire.Result){
		"owner":    func(r *wire.Result) { r.Attempt.Owner = "C" },
		"sequence": func(r *wire.Result) { r.Attempt.Sequence = sequence("2") },
		"payload":  func(r *wire.Result) { r.Attempt.Payload = named("another") },
	} {
		s := newStage(t)
		s.tell("delegate B d1 0 1")
		r := wire.Result{Sequence: sequence("1"), Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "B", Sequence: sequence("1")}, Data: []byte("x")}}
		spoil(&r)
		got := s.answers("B", wire.KindAssemble, wire.Assembled{Results: []wire.Result{r}})
		if len(got) != 1 || got[0] != "B: returned 1, refused" {
			t.Errorf("another %s: it does %q", name, got)
		}
	}
}

// A signature of another attempt is no endorsement, and a grant for another sender of entries is no grant (Q18): the
// ledger would skip the entry each time.
func TestSignaturesForSomethingElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x"} {
		s.tell(line)
	}
	other := wire.Endorsed{Verdicts: []wire.Verdict{{Assembled: named("y"), Signature: []byte("s")}}}
	if got := s.answers("C", wire.KindEndorse, other); len(got) != 1 || got[0] != "C signs wrongly" {
		t.Errorf("endorsed with another's signature, it does %q", got)
	}
	if got := s.tell("verdicts D x"); len(got) != 1 {
		t.Fatalf("endorsed, it does %q", got)
	}
	grant := ledger.Grant{Assembled: named("x"), Coordinator: "C", Delegation: named("d1"), ValidUntil: 20}
	got := s.answers("B", wire.KindAskGrant, wire.Granted{Items: []wire.GrantResult{{Sequence: sequence("1"), Grant: grant}}})
	if len(got) != 1 || got[0] != "B: returned 1, unknown" {
		t.Errorf("granted for another, it does %q", got)
	}
}
