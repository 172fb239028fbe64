package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// S2: of an answer to a handover that is proven which can count, and no more of it comes in: a proof costs as much as all else that is done
// with it, and what counts without one locks states on the word of one member.
func TestWhatOfAHandoverCounts(t *testing.T) {
	t.Parallel()
	entry := func(s *stage, text string) wire.Dispatch {
		s.speaker = "B"
		e := s.inherited(text)
		e.Attempt.Owner = "B"
		return e
	}
	for name, c := range map[string]struct {
		before []string
		rng    int // for which it coordinates; 0: one that begins with it
		from   ledger.Account
		spoil  func(*wire.Dispatch, *wire.RequestID)
		want   int
	}{
		"as it should be":              {want: 1},
		"of another than was asked":    {from: "C", spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Grant.Coordinator = "C" }},
		"to an earlier start":          {spoil: func(_ *wire.Dispatch, id *wire.RequestID) { id.Incarnation[0]++ }},
		"to another question":          {spoil: func(_ *wire.Dispatch, id *wire.RequestID) { id.Number = 99 }},
		"a second time":                {before: []string{"handed B B/7=g:s1:1:60"}},
		"known from another":           {before: []string{"handed C B/7=g:s1:1:60"}},
		"its own, dispatched":          {rng: 5, before: []string{"attempts B 7=y:s2:1", "verdicts A y", "verdicts C y", "grants B 7=y:d1:60", "stored"}},
		"its own, not granted":         {rng: 5, before: []string{"attempts B 7=y:s2:1", "verdicts A y", "verdicts C y"}, want: 1},
		"its own, the same":            {before: []string{"attempts B 7=g:s1:1"}},
		"it owns another attempt":      {before: []string{"attempts B 7=y:s1:1"}, want: 1},
		"of nobody":                    {spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Attempt.Owner = "X" }},
		"its grant is over":            {spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Grant.ValidUntil = 40 }},
		"its grant lasts for a block":  {spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Grant.ValidUntil = 41 }, want: 1},
		"the ledger has decided it":    {before: []string{"heard B/7=g:s1:1", "block 43 g"}},
		"granted to another":           {spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Grant.Coordinator = "C" }},
		"endorsed by fewer":            {spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Endorsements = e.Endorsements[:1] }},
		"the question was asked again": {before: []string{"block 83"}, spoil: func(e *wire.Dispatch, _ *wire.RequestID) { e.Grant.ValidUntil = 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.tell("head 42")
			s.tell(fmt.Sprintf("delegate B d1 %d 7", cmp.Or(c.rng, 4)))
			id := s.asked[keyOf(wire.KindAskHandover, "B")]
			for _, line := range c.before {
				s.tell(line)
			}
			e := entry(s, "7=g:s1:1:60")
			if c.spoil != nil {
				c.spoil(&e, &id)
			}
			from := ledger.Account("B")
			if c.from != "" {
				from = c.from
			}
			if got := len(s.m.Claims(from, id, wire.Handover{Entries: []wire.Dispatch{e}})); got != c.want {
				t.Errorf("%d are to be proven, want %d", got, c.want)
			}
		})
	}
}

// What was proven under one name is not taken under another: a grant names what it is for.
func TestAHandoverOfSomethingElse(t *testing.T) {
	t.Parallel()
	for granted, want := range map[string]string{"g": "D: assemble 1; locked s1; created g.0", "h": "D: assemble 1"} {
		s := newStage(t)
		s.tell("head 42")
		s.tell("delegate C d1 4 1")
		s.speaker = "B"
		e := s.inherited("7=g:s1:1:60")
		e.Attempt.Owner, e.Grant.Assembled = "B", named(granted)
		s.answers("B", wire.KindAskHandover, wire.Handover{Entries: []wire.Dispatch{e}})
		if got := s.tell("delegate D d2 4 1"); len(got) != 2 || got[1] != want {
			t.Errorf("granted as %s: it does %q", granted, got)
		}
	}
}

// A member that is not in the committee is told nothing of what is dispatched: it can do nothing with that.
func TestAHandoverIsForTheCommittee(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C"}, 10, alphabet{})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Committee = &committee
	if got := s.tell("handover D 0"); len(got) != 1 || got[0] != "D: rejected, not a member" {
		t.Errorf("it does %q", got)
	}
	if got := s.tell("handover B 0"); len(got) != 1 || got[0] != "B: has dispatched" {
		t.Errorf("asked by one of the committee, it does %q", got)
	}
}

// The ledger has cancelled an intent that has no attempt here: that ends it, and is no attempt that has landed.
func TestACancelledIntentIsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tell("delegate B d1 0 1 2")
	in := ledger.Intent{Owner: "B", Sequence: sequence("1")}
	s.say(s.m.Step(s.now, ledger.Block{Number: 3, Facts: []ledger.Fact{{Intent: in}}}))
	if got := s.tell("list B"); len(got) != 1 || got[0] != "B: list 2" || len(s.m.Faults()) > 0 {
		t.Errorf("it has %q, and %q are impossible", got, s.m.Faults())
	}
}

// S1: no grant is asked for what cannot land: a state may go between two blocks, when the ledger is asked about it.
func TestWhatIsGoneIsNotGranted(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		s := newStage(t)
		for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x"} {
			s.tell(line)
		}
		s.book.unspent[ledger.StateID(named("s1"))] = !gone
		want := map[bool][]string{false: {"B: grant 1=x"}, true: {"B: assemble 1; gone s1 x.0"}}[gone]
		if got := append(s.tell("verdicts C x"), s.tell("wait 50ms")...); !slices.Equal(got, want) {
			t.Errorf("gone %v: it does %q, want %q", gone, got, want)
		}
	}
}

// The ledger takes an entry with as many endorsements as are needed, and no others: fewer are skipped, and each one more is paid for.
func TestAnEntryHasTheEndorsementsThatAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x", "verdicts C x", "grants B 1=x:d1:20"} {
		s.tell(line)
	}
	for _, a := range s.m.Step(s.now, Stored{s.store}) {
		if submit, is := a.(Submit); is {
			if n := len(submit.Entries[0].Endorsements); n != s.set.Contract.Needed {
				t.Errorf("it has %d endorsements, and %d are needed", n, s.set.Contract.Needed)
			}
			return
		}
	}
	t.Error("nothing is submitted")
}

// Q19: a request has a name that no other start of this node gives. What names another start, or comes from a member that
// was not asked, answers nothing.
func TestAnswersToOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tell("delegate B d1 0 1")
	answer, _ := s.input(strings.Fields("attempts B 1=x:s1:1")).(Received)
	for what, change := range map[string]func(*Received){
		"of another start":   func(r *Received) { r.Message.Request.Incarnation[5]++ },
		"of another request": func(r *Received) { r.Message.Request.Number++ },
		"of another member":  func(r *Received) { r.From = "C" },
		"of another kind":    func(r *Received) { r.Message.Body = wire.Noted{} },
	} {
		in := answer
		if change(&in); len(s.m.Step(s.now, in)) > 0 || s.m.Status().Stages["assembling"] != 1 {
			t.Errorf("an answer %s counts: %v", what, s.m.Status().Stages)
		}
	}
	if s.m.Step(s.now, answer); s.m.Status().Stages["endorsing"] != 1 {
		t.Errorf("its own answer does not count: %v", s.m.Status().Stages)
	}
}

// Q3: a verdict that can still count is needed, so that it is verified; no other is.
func TestWhichEndorsementsAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t) // two of four have to endorse
	s.tell("delegate B d1 0 1 2")
	s.tell("attempts B 1=x:s1:1 2=y:s2:1")
	asked := func(member string) wire.RequestID { return s.asked[keyOf(wire.KindEndorse, ledger.Account(member))] }
	ids := map[string]wire.RequestID{"C": asked("C"), "D": asked("D")}
	needs := func(member string, want ...bool) {
		t.Helper()
		for at, want := range want {
			if got := s.m.Needs(ids[member], at); got != want {
				t.Errorf("of %s, verdict %d is needed: %t, want %t", member, at, got, want)
			}
		}
	}
	needs("C", true, true, false)
	s.tell("verdicts A x y")
	needs("C", true, true, false)
	s.tell("verdicts B x y=conflict")
	needs("C", false, true, false)
	needs("D", false, true, false)
	other := ids["C"]
	other.Incarnation[3]++
	if s.m.Needs(other, 1) {
		t.Error("a verdict for another start is needed")
	}
	s.tell("verdicts C x y")
	needs("C", false, false)
	needs("D", false, false)
}

// Q3: so is a grant for which its attempt waits.
func TestWhichGrantsAreNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"delegate B d1 0 1", "handed B", "handed C", "handed D", "attempts B 1=x:s1:1", "verdicts A x", "verdicts B x"} {
		s.tell(line)
	}
	id := s.asked[keyOf(wire.KindAskGrant, "B")]
	if !s.m.Needs(id, 0) || s.m.Needs(id, 1) {
		t.Error("the one grant that is waited for is needed, and no other")
	}
	s.tell("grants B 1=x:d1:20")
	if s.m.Needs(id, 0) {
		t.Error("a grant that has come is needed")
	}
}

// A member whose last signature was wrong has all looked at: what is not needed may be the first that is right.
func TestEverySignatureOfAForgerIsNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"aside 1s", "delegate B d1 0 1 2", "attempts B 1=x:s1:1 2=y:s2:1", "forged", "verdicts C x y", "wait 1s"} {
		s.tell(line)
	}
	id := s.asked[keyOf(wire.KindEndorse, "C")]
	s.tell("verdicts A x y")
	s.tell("verdicts B x y")
	if !s.m.Needs(id, 0) || s.m.Needs(id, 2) {
		t.Error("what a member signs is not looked at that has signed wrongly")
	}
	s.tell("verdicts C x y")
	if forges := s.m.Status().Forges; len(forges) > 0 {
		t.Errorf("%v are still said to sign wrongly", forges)
	}
}

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
		r := wire.Result{Sequence: sequence("1"), Whole: wire.Whole{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "B", Sequence: sequence("1")}, Data: []byte("x")}}}
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

// Every event is named in every state: handled, ignored with a reason, or impossible with a reason.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	for e := range events {
		for s := range over {
			c := table[e][s]
			switch {
			case c == nil:
				t.Errorf("%v in %v is not named", e, s)
			case c.never && c.why == "":
				t.Errorf("%v in %v is impossible, and nobody says why", e, s)
			case c.why != "" && (c.next != 0 || c.do != nothing):
				t.Errorf("%v in %v changes nothing, and has a next state or an effect", e, s)
			}
		}
	}
}

// The diagram has each state, and each way that changes it.
func TestDiagram(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"[*] --> pooled", "ready --> granting: grant asked", "storing --> dispatched: row stored", "dispatched --> over: disowned, superseded, skipped, abandoned, final"} {
		if !strings.Contains(Diagram(), want) {
			t.Errorf("the diagram lacks %q:\n%s", want, Diagram())
		}
	}
}

// A machine is not idle before its last submissions were reviewed: what waits for its nonce would be sent for nothing. What is lost
// under an earlier grant says nothing about a later one of the same attempt.
func TestTheLastReview(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, line := range []string{"head 10", "rows C/1=x:s1:1:30!", "judged 8 alive", "wait 5100ms"} {
		s.tell(line)
	}
	if len(s.reviewed) != 1 {
		t.Fatalf("reviewed are %v, want x", s.reviewed)
	}
	before := s.reviewed[0]
	before.Grant.Delegation = named("an earlier one")
	for _, a := range s.m.Step(s.now, Reviewed{Lost: []ledger.Entry{before}}) {
		if _, is := a.(Submit); is {
			t.Error("the word about an earlier grant has the later one submitted again")
		}
	}
	for _, line := range []string{"block 11 x", "block 12", "block 13"} {
		s.tell(line)
	}
	if s.m.Idle() {
		t.Error("it is idle, and owes a review")
	}
	s.now += time.Minute
	if s.say(s.m.Step(s.now, Tick{})); len(s.reviewed) != 0 || s.m.Idle() {
		t.Errorf("idle %v, while what was reviewed about %v is not answered", s.m.Idle(), s.reviewed)
	}
	if s.m.Step(s.now, Reviewed{}); !s.m.Idle() {
		t.Error("it is not idle, and there is nothing left to do")
	}
}
