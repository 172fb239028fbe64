package sender

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

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
		for _, in := range []Input{Submit{Payload: []byte("make x")}, Stored{ID: first}, Cancel{Sequence: ledger.Sequence{Lineage: 1, Counter: 1}}, Stored{ID: first + 1}} {
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
		w.step(Submit{Payload: []byte("make x")})
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
