package sender

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// has reports whether one of the actions begins so.
func has(done []string, begin string) bool {
	return slices.ContainsFunc(done, func(line string) bool { return strings.HasPrefix(line, begin) })
}

// C2 of the review: the ledger's answer counts for the grants that it was asked about, and not for those given since.
func TestAnOldAnswerEndsNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "crash") // k1 is asked about, and the answer takes its time
	old := s.judges[0]
	for range 20 {
		s.play("block")
	}
	s.play("wait 50ms", "accepted a", "wait 50ms", "accepted b", "wait 50ms")
	at := string(s.m.listed[0].account)
	for _, p := range s.m.listed {
		if p.active > 0 {
			at = string(p.account)
		}
	}
	s.play("assemble "+at+" k1", "ask "+at+" k1", "stored", "cancel k1", "stored")
	if st, _ := s.m.Status(s.seqs["k1"]); st.State != Ending || st.Grants != 1 {
		t.Fatalf("want k1 given up with one grant, it is %v with %d", st.State, st.Grants)
	}
	in := Judged{Number: s.final(), Answers: []Answer{{Sequence: old.Questions[0].Sequence}}}
	if done := s.step(in); has(done, "store") {
		t.Errorf("an answer about no grant at all has ended it: %q", done)
	}
}

// A node that stood still does not take what waits to be read for silence, nor an unread answer for none.
func TestTimeThatThisNodeStoodStill(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "submit k2 make y", "stored")
	s.now += 3 * time.Second
	if done := s.step(Tick{}); has(done, "to b") {
		t.Errorf("after a pause of its own it has left a: %q", done)
	}
	if done := s.play("wait 600ms"); !has(done, "to b") {
		t.Errorf("after a silence it has not left a: %q", done)
	}
}

// One cut direction. The beats of a node that does not hear this one bring it back once, and from then
// on its pauses double; a beat that has intents of this node, an answer or a request shows that it hears.
func TestBeatsOfANodeThatDoesNotHear(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "wait 500ms") // a is left out for 500ms
	first := func() string { return string(must(s.m.choice()).account) }
	if first() != "b" {
		t.Fatalf("the choice is %s after a did not answer", first())
	}
	if s.play("beat a"); first() != "a" {
		t.Error("a beat has not brought a back")
	}
	s.play("accepted b", "submit k2 make y", "stored", "wait 450ms", "beat b k1", "wait 100ms")
	if s.play("beat a"); first() != "b" {
		t.Error("a second beat has brought a back, although it does not answer")
	}
	if s.play("beat a k1"); first() != "a" {
		t.Error("a beat with an intent of this node has not brought a back")
	}
}

func must(p *peer, _ []ledger.Account) *peer { return p }

// A node that is its own coordinator has no beats to hear.
func TestThisNodeIsNotSilentToItself(t *testing.T) {
	t.Parallel()
	contract := testContract()
	contract.Committee = []ledger.Account{self}
	m := New(testConfig(t, &contract))
	m.Step(0, IntentRow{Payload: []byte("make x")})
	sent := m.Step(0, Stored{ID: m.stores})[1].(Send)
	m.Step(0, Received{From: self, Message: wire.Message{Request: sent.Message.Request, Body: wire.Accepted{}}})
	for now := time.Duration(0); now < 10*time.Second; now += 50 * time.Millisecond {
		for _, done := range m.Step(now, Tick{}) {
			if _, is := done.(Nudge); !is { // which is right: the chain stands still
				t.Fatalf("it has left itself: %v", done)
			}
		}
	}
}

// One that says for ever that this node is behind is left out after ten seconds.
func TestANodeThatIsAlwaysAhead(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored")
	for range 12 {
		if done := s.play("rejected a too-old"); has(done, "to b") {
			if s.now < 10*time.Second {
				t.Errorf("it was left after %v", s.now)
			}
			return
		}
		s.play("wait 1s")
	}
	t.Error("it is asked for ever")
}

// Two nodes that give an intent back and forth do it ten times a second, and not as fast as they can.
func TestReturnsArePaced(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a")
	if done := s.play("returned a moved k1"); len(done) > 0 {
		t.Errorf("it goes back at once: %q", done)
	}
	if done := s.play("wait 50ms"); len(done) > 0 {
		t.Errorf("it goes back after 50ms: %q", done)
	}
	if done := s.play("submit k2 make y", "stored"); !has(done[1:], "to a: delegate D1 range 0 k2") {
		t.Errorf("another intent waits too: %q", done)
	}
	s.play("accepted a")
	if done := s.play("wait 50ms"); !has(done, "to a: delegate D2") {
		t.Errorf("it does not go back after 100ms: %q", done)
	}
}

// A list that was made before an intent was accepted says nothing about it.
func TestAListIsOfWhenItWasAsked(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "submit k2 make y", "stored", "stored", "accepted a", "wait 50ms", "beat a", "wait 50ms", "accepted a")
	if done := s.play("list a k1"); len(done) > 0 {
		t.Errorf("k2 was accepted after the list was asked for, and moves: %q", done)
	}
	for _, number := range []uint64{s.lists["a"].Number - 1, s.lists["a"].Number} { // not that request, or answered
		other := s.message("list", "a", nil)
		other.Request.Number, other.Request.Incarnation = number, wire.Incarnation{1}
		if done := s.step(Received{From: "a", Message: other}); len(done) > 0 {
			t.Errorf("an old list is believed: %q", done)
		}
	}
	other := s.message("list", "b", nil)
	other.Request = s.lists["a"]
	if done := s.step(Received{From: "b", Message: other}); len(done) > 0 {
		t.Errorf("another node's list is believed: %q", done)
	}
}

// Q19: answers count from whom was asked alone, and once.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored")
	state := func() State { st, _ := s.m.Status(s.seqs["k1"]); return st.State }
	accepted := wire.Message{Request: s.delegates["a"], Body: wire.Accepted{}}
	if s.step(Received{From: "b", Message: accepted}); state() != Delegated {
		t.Errorf("b has accepted what a was offered: %v", state())
	}
	if s.step(Received{From: "a", Message: accepted}); state() != Accepted {
		t.Errorf("a has accepted, and it is %v", state())
	}
	if s.step(Received{From: "a", Message: wire.Message{Request: s.delegates["a"], Body: wire.Rejected{}}}); state() != Accepted {
		t.Errorf("a second answer counts: %v", state())
	}
	// only who was granted an attempt can have dispatched it, and only the coordinator gives an intent back
	s.play("assemble a k1", "ask a k1", "stored")
	if done := s.play("dispatched b k1=A1"); state() != Granted || !has(done, "to b: noted") {
		t.Errorf("b has dispatched what a was granted: %v, %q", state(), done)
	}
	if s.play("returned b moved k1"); state() != Granted {
		t.Errorf("b has returned what a has: %v", state())
	}
}

// An intent that has ended leaves nothing in memory, however long its grant or deadline would last.
func TestNothingIsKeptOfTheEnded(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k0 move y z", "stored", "accepted a") // keeps the machine at work
	s.play("submit k1 make x deadline=999", "stored", "accepted a", "assemble a k1", "ask a k1", "stored", "dispatched a k1=A1", "stored", "block k1=A1", "block", "block", "stored")
	if w := s.m.work; len(w.expiring)+len(w.deadlines)+len(w.blocks)+len(w.commits)+len(w.asks)+len(w.offers)+len(w.endings)+len(w.questions)+len(w.waiting) > 0 {
		t.Errorf("something is kept: %+v", w)
	}
	if len(s.m.intents) != 1 || s.m.counts[Accepted] != 1 || s.m.deadlined != 0 {
		t.Errorf("it counts %v, want one that is accepted", s.m.counts)
	}
	for state, n := range s.m.counts {
		if n != 0 && State(state) != Accepted {
			t.Errorf("%d are %v", n, State(state))
		}
	}
}

// I4: a thousand intents in one Delegate at most, all in order, and one Delegate on its way.
func TestOffersAreInParts(t *testing.T) {
	t.Parallel()
	contract := testContract()
	m := New(testConfig(t, &contract))
	var offers [][]wire.Offer
	var open []Send
	take := func(done []Action) {
		for _, a := range done {
			if s, is := a.(Send); is {
				offers, open = append(offers, s.Message.Body.(wire.Delegate).Intents), append(open, s)
			}
		}
	}
	const all = 3000
	before := m.stores
	for range all {
		m.Step(0, IntentRow{Payload: []byte("make x")})
	}
	for id := range uint64(all) {
		take(m.Step(0, Stored{ID: before + id + 1}))
	}
	next := uint64(1)
	for len(open) > 0 {
		if len(open) > 1 {
			t.Fatal("two Delegates are on their way")
		}
		s := open[0]
		open = nil
		take(m.Step(0, Received{From: s.To, Message: wire.Message{Request: s.Message.Request, Body: wire.Accepted{}}}))
	}
	for _, part := range offers {
		if len(part) > mostOffers {
			t.Errorf("%d in one", len(part))
		}
		for _, o := range part {
			if o.Sequence.Counter != next {
				t.Fatalf("%d comes where %d should", o.Sequence.Counter, next)
			}
			next++
		}
	}
	if next != all+1 {
		t.Errorf("%d were offered, want %d", next-1, all)
	}
}

// A sequence is its owner's: another member's intent may have the same.
func TestAnotherOwnersFacts(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored")
	f := ledger.Fact{Intent: ledger.Intent{Owner: "b", Sequence: s.seqs["k1"]}, Payload: s.payloads["k1"], Assembled: s.attempts[0]}
	s.step(ledger.Block{Number: 1, Facts: []ledger.Fact{f}})
	if st, _ := s.m.Status(s.seqs["k1"]); st.State != Granted {
		t.Errorf("another owner's intent has landed, and k1 is %v", st.State)
	}
}

// A deadline may pass while the node is down.
func TestADeadlineThatPassedWhileTheNodeWasDown(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x deadline=3", "stored")
	for n := range uint64(9) {
		s.blocks = append(s.blocks, ledger.Block{Number: n + 1})
	}
	if s.play("crash"); s.m.counts[Ending] != 1 {
		t.Errorf("its deadline is final, and it is not given up: %+v", s.m.Snapshot())
	}
}

// The ledger's answer may come before the block is final here.
func TestJudgedBeforeTheBlockIsFinal(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k0 move y z", "submit k1 make x", "stored", "stored", "accepted a", "accepted a", "assemble a k1", "ask a k1", "stored", "crash")
	if done := s.play("block k1=A1", "judged k1=done:A1", "stored"); !has(done, "tell k1 that it is confirmed") || len(s.m.blocks) > 0 {
		t.Errorf("%q; blocks that are waited for: %v", done, s.m.blocks)
	}
}

// A grant lasts for Life blocks from the head, which a reorganisation lowers.
func TestAGrantIsFromTheHead(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "block", "block", "block", "rewind 1")
	if done := s.play("ask a k1"); !has(done, "store [grant of k1 A1 to a under D1 until 11]") {
		t.Errorf("got %q, want a grant until block 11", done)
	}
}

// P30: a node that no longer has an intent is granted nothing, whatever it names.
func TestAGrantIsOfItsDelegation(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "returned a moved k1", "wait 100ms", "rejected a not-a-member", "accepted b")
	if done := s.play("ask a k1/D1=A1"); len(done) != 1 || done[0] != "to a: granted k1:moved" {
		t.Errorf("a has given it back, and asks for a grant: %q", done)
	}
}

// I2: an intent is done if what landed under its number is its payload, and else it is not.
func TestAnotherPayloadIsAnotherIntent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "block k1=other", "block", "block")
	if done := strings.Join(s.play("stored"), "; "); strings.Contains(done, "confirmed") || !strings.Contains(done, "reverted") {
		t.Errorf("another payload has landed under its number, and its user hears %q", done)
	}
}

// I4: within a delegation numbers rise, so what comes back goes out under another one.
func TestWhatComesBackIsInAnotherDelegation(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "submit k2 make y", "stored", "stored", "accepted a", "accepted a", "returned a moved k1")
	if done := s.play("wait 100ms"); !has(done, "to a: delegate D2 range 0 k1") {
		t.Errorf("k1 was before k2 in D1, and goes out again as %q", done)
	}
}
