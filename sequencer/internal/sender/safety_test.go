package sender

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
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
		Pulse{}, Pulse{From: "a"}, Tick{}, IntentRow{}, Received{},
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

func testConfig(t testing.TB, c *ledger.Contract) Config {
	b, err := book.New(book.Config{Contract: *c, Scheme: model.Fake{}, Rules: tokens{}})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Self: self, Contract: c, Committee: testCommittee(*c), Scheme: model.Fake{}, Rules: tokens{}, Book: b,
		Incarnation: wire.Incarnation{1}, Lineage: 1, Secret: [32]byte{1},
	}
}

// I9: ten thousand contracts that nobody uses cost next to nothing, used before or not.
func TestIdleMachinesAreSmall(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const machines, most = 10_000, 2048
	contract := testContract()
	config := testConfig(t, &contract)
	all := make([]*Machine, machines)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		m := New(config)
		first := m.stores + 1
		for _, in := range []Input{IntentRow{Payload: []byte("make x")}, Stored{ID: first}, Cancel{Sequence: ledger.Sequence{Lineage: 1, Counter: 1}}, Stored{ID: first + 1}} {
			m.Step(time.Second, in)
		}
		if all[i] = m; !m.Idle() {
			t.Fatal("a machine is not idle, though its only intent has ended")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / machines; each > most {
		t.Errorf("an idle machine has %d bytes, want %d at most", each, most)
	} else {
		t.Logf("an idle machine has %d bytes", each)
	}
	runtime.KeepAlive(all)
}

func TestTheDiagramIsKept(t *testing.T) {
	t.Parallel()
	const file = "testdata/states.mmd"
	if *update {
		if err := os.WriteFile(file, []byte(Diagram()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != Diagram() {
		t.Errorf("the table has changed (run with -update, then read the diff):\n%s", storytest.FirstDifference(string(want), Diagram()))
	}
}

func TestConfigListsEveryFault(t *testing.T) {
	t.Parallel()
	contract := testContract()
	good := testConfig(t, &contract)
	if err := good.Validate(); err != nil {
		t.Errorf("a good one has faults: %v", err)
	}
	bad := good
	bad.Self, bad.Book, bad.Incarnation, bad.Lineage, bad.Secret = "stranger", nil, wire.Incarnation{}, 0, [32]byte{}
	bad.Silence, bad.Tries, bad.Load.Final = -1, -1, 5
	other := testContract()
	other.Committee = []ledger.Account{"a", "self"}
	bad.Contract = &other
	err := bad.Validate()
	for _, want := range []string{"no member", "ranking does not know", "ranking has nodes", "are required", "incarnation is zero", "lineage is zero", "secret is zero", "duration is below", "number is below", "head 0 is before"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not among the faults: %v", want, err)
		}
	}
	if err := (Config{}).Validate(); err == nil {
		t.Error("an empty one has no faults")
	}
}

// BenchmarkIntent is the cost of one intent, from its submission to the word that it is confirmed, with many in flight.
// It includes the book, hashes and the rules of tokens, and no signatures.
func BenchmarkIntent(b *testing.B) {
	for _, flight := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint("flight-", flight), func(b *testing.B) { benchmark(b, flight) })
	}
}

func benchmark(b *testing.B, flight int) {
	contract := testContract()
	contract.Life = 1 << 40
	contract.Range = 1 << 40
	config := testConfig(b, &contract)
	fed := config.Book.(*book.Book)
	m := New(config)
	w := &mill{m: m, scheme: model.Fake{}, contract: contract, book: fed, coordinator: ledger.Account(config.Committee.Order(0)[0])}
	for w.submitted < flight {
		w.submit(min(64, flight-w.submitted))
	}
	b.ResetTimer()
	for done := 0; done < b.N; {
		n := min(64, b.N-done, flight)
		w.carry(n)
		w.submit(n)
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/intent")
}

// mill is a coordinator that does everything at once.
type mill struct {
	m           *Machine
	scheme      model.Fake
	contract    ledger.Contract
	book        *book.Book
	coordinator ledger.Account
	now         time.Duration
	submitted   int
	number      uint64
	block       uint64
	has         []wire.Step
}

func (w *mill) step(in Input) (out []Action) {
	w.now += time.Microsecond
	out = w.m.Step(w.now, in)
	for _, a := range out {
		switch a := a.(type) {
		case Store:
			out = append(out, w.step(Stored{ID: a.ID})...)
		case Send:
			if body, is := a.Message.Body.(wire.Delegate); is {
				for _, o := range body.Intents {
					w.has = append(w.has, wire.Step{Sequence: o.Sequence, Delegation: body.Delegation})
				}
				out = append(out, w.step(Received{From: w.coordinator, Message: wire.Message{Request: a.Message.Request, Body: wire.Accepted{}}})...)
			}
		}
	}
	return out
}

func (w *mill) submit(n int) {
	for range n {
		w.submitted++
		w.step(IntentRow{Payload: []byte("make x")})
	}
}

func (w *mill) request(body wire.Body) []Action {
	w.number++
	return w.step(Received{From: w.coordinator, Message: wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{9}, Number: w.number}, Body: body}})
}

// carry brings the first intents from their assembly to a final block.
func (w *mill) carry(n int) {
	items := w.has[:n]
	w.has = w.has[n:]
	ask, told, facts := wire.AskGrant{By: w.coordinator}, wire.Dispatched{}, []ledger.Fact(nil)
	for _, a := range w.request(wire.Assemble{Items: items, Context: wire.Context{Version: 1}}) {
		for i, r := range a.(Send).Message.Body.(wire.Assembled).Results {
			hash := w.scheme.Assembled(w.contract, r.Attempt)
			ask.Items = append(ask.Items, wire.GrantStep{Step: items[i], Assembled: hash})
			told.Items = append(told.Items, wire.Handed{Sequence: r.Sequence, Assembled: hash})
			facts = append(facts, ledger.Fact{Intent: r.Attempt.Intent, Payload: r.Attempt.Payload, Assembled: hash})
		}
	}
	w.request(ask)
	w.request(told)
	for range 1 + w.contract.Depth {
		w.block++
		b := ledger.Block{Number: w.block, Facts: facts}
		facts = nil
		if err := w.book.Block(b); err != nil {
			panic(err)
		}
		w.step(b)
	}
	w.step(Tick{})
}
