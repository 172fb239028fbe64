package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// asOf is a ledger as it was after a final block.
type asOf struct {
	number  uint64
	unspent map[ledger.StateID]bool
}

func (a asOf) Number() uint64                                                 { return a.number }
func (a asOf) Landed(ledger.Intent) (assembled, payload ledger.Hash, is bool) { return }
func (a asOf) Unspent(s ledger.StateID) bool                                  { return a.unspent[s] }

// P12: what a ledger no longer has is spent, and what it does not have yet is not. An answer may be of a block before the
// one that creates a state: that was on its way when the node asked, or the endpoint is behind. Such a state was taken out
// for ever, and the node neither saw nor endorsed anything that spends it.
func TestAStateThatIsNotThereYetIsNotGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked  uint64 // the head when the ledger is asked
		number uint64 // the final block of the answer
		gone   bool
	}{
		"its creator becomes final before the answer comes": {asked: 4, number: 2},
		"the endpoint is behind":                            {asked: 9, number: 2},
		"the endpoint is one block behind":                  {asked: 6, number: 2},
		"an answer of the block that has its creator":       {asked: 6, number: 3, gone: true},
		"an answer of the node's own final block":           {asked: 9, number: 6, gone: true},
		"a later one": {asked: 9, number: 8, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "alice", declared("alice"))
			b := d.Book
			secret := domain.Secret{Data: []byte("money")}
			a := ledger.Attempt{
				Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: 1}}, Payload: domain.PayloadHash([]byte("p")),
				Outputs: []ledger.Hash{secret.Commitment()},
			}
			assembled, err := b.Hear(wire.Whole{Attempt: a, Payload: []byte("p"), Outputs: []domain.Secret{secret}})
			if err != nil {
				t.Fatal(err)
			}
			block := func(n uint64) {
				in := ledger.Block{Number: n}
				if n == 3 { // final with block 6
					in.Facts = []ledger.Fact{{Intent: a.Intent, Payload: a.Payload, Assembled: assembled}}
				}
				if err := b.Block(in); err != nil {
					t.Fatal(err)
				}
			}
			for n := uint64(1); n <= c.asked; n++ {
				block(n)
			}
			d.absent.reconcileStates(b.States(), nil)
			asked, is := next[ReadFinal](d)
			for n := c.asked + 1; n <= 9; n++ {
				block(n)
			}
			if is {
				d.step(Answered{ID: asked.ID, Final: asOf{number: c.number}})
			}
			if id := (model.Fake{}).State(assembled, 0); slices.Contains(b.States(), id) == c.gone {
				t.Errorf("the states are %v, want %v gone: %t", b.States(), id, c.gone)
			}
		})
	}
}

// absentee is a member that was away while attempts landed, the ledger's block 9 of which is final. Its ledger has the states that
// attempts have left, and notes how large each question is.
type absentee struct {
	*desk

	unspent map[ledger.StateID]bool
	asked   []int
	fails   int // which question has no answer; 0: none
	attempt []wire.Whole
}

func newAway(t *testing.T, count int) *absentee {
	t.Helper()
	a := &absentee{desk: newDesk(t, "alice", declared("alice")), unspent: map[ledger.StateID]bool{}}
	in := ledger.Block{Number: 1}
	for i := range count {
		secret := domain.Secret{Data: []byte("money")}
		w := wire.Whole{Attempt: ledger.Attempt{
			Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: uint64(i + 1)}}, Payload: domain.PayloadHash([]byte("p")),
			Outputs: []ledger.Hash{secret.Commitment()},
		}, Payload: []byte("p"), Outputs: []domain.Secret{secret}}
		if i == 1 {
			w.Attempt.Inputs = []ledger.StateID{a.state(0)}
		}
		a.attempt = append(a.attempt, w)
		in.Facts = append(in.Facts, ledger.Fact{Intent: w.Attempt.Intent, Payload: w.Attempt.Payload, Assembled: a.named(i)})
	}
	for ; in.Number <= 9; in = (ledger.Block{Number: in.Number + 1}) {
		if err := a.Book.Block(in); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *absentee) named(i int) ledger.Hash {
	return model.Fake{}.Assembled(a.set.Declared, a.attempt[i].Attempt)
}

func (a *absentee) state(i int) ledger.StateID { return model.Fake{}.State(a.named(i), 0) }

// round asks the ledger as fetch does, and does what comes of it. Meanwhile is done before the first answer.
func (a *absentee) round(meanwhile func()) {
	a.t.Helper()
	missing := a.Book.Missing()
	a.absent.reconcileStates(a.Book.States(), missing)
	a.absent.reconcileStates(a.Book.States(), missing) // the next round begins before the end of this one
	meanwhile()
	a.settle()
}

// settle does what comes of questions.
func (a *absentee) settle() {
	a.t.Helper()
	for question, is := next[ReadFinal](a.desk); is; question, is = next[ReadFinal](a.desk) {
		answer := Answered{ID: question.ID, Final: asOf{number: 9, unspent: a.unspent}}
		if a.asked = append(a.asked, len(question.States)); len(a.asked) == a.fails {
			answer = Answered{ID: question.ID, Err: errors.New("the endpoint is away")}
		}
		a.step(answer)
	}
	if a.absent.doubting {
		a.t.Fatal("it is done and goes on")
	}
}

// Q14: whatever nobody has any more, and nobody needs, is given up in one round, however much it is, in questions of a
// bounded size. Ten thousand attempts at eight a round, of a minute each, were not given up in a day.
func TestAllThatIsLostIsGivenUp(t *testing.T) {
	t.Parallel()
	const count = 100
	a := newAway(t, count)
	a.round(func() {})
	if left := len(a.Book.Missing()); left > 0 {
		t.Errorf("%d of %d are missing still", left, count)
	}
	total := 0
	for _, size := range a.asked {
		if total += size; size > mostRead {
			t.Errorf("a question is about %d states, want %d at most", size, mostRead)
		}
	}
	if total != count*wire.MostStates {
		t.Errorf("the questions were about %d states, want each once: %d", total, count*wire.MostStates)
	}
}

// A question without an answer ends a round, and the next one goes on with the rest.
func TestAnEndpointThatFailsEndsARound(t *testing.T) {
	t.Parallel()
	const count = 30
	a := newAway(t, count)
	a.fails = 2
	if a.round(func() {}); len(a.Book.Missing()) != count-mostRead/wire.MostStates {
		t.Errorf("%d of %d are missing after one answer", len(a.Book.Missing()), count)
	}
	if a.round(func() {}); len(a.Book.Missing()) > 0 {
		t.Errorf("%d are missing after the next round", len(a.Book.Missing()))
	}
}

// What somebody needs hides nothing: it has its turn, and then others have theirs. A round in which nothing is given up ends
// with its first question.
func TestWhatIsNeededHidesNothing(t *testing.T) {
	t.Parallel()
	const count, needed = 30, 20
	a := newAway(t, count)
	missing := a.Book.Missing()
	for _, m := range missing[:needed] { // those whose turn comes first
		a.unspent[model.Fake{}.State(m.Assembled, 0)] = true
	}
	for round := 1; len(a.Book.Missing()) > needed; round++ {
		before := len(a.asked)
		if a.round(func() {}); len(a.asked) != before+1 && round <= 2 {
			t.Errorf("round %d has %d questions, and gives nothing up", round, len(a.asked)-before)
		}
		if round == 10 {
			t.Fatalf("%d are missing, want those %d alone that are needed", len(a.Book.Missing()), needed)
		}
	}
	for _, m := range missing[:needed] {
		if !slices.Contains(a.Book.Missing(), m) {
			t.Fatalf("%v was given up, and has a state", m)
		}
	}
}

// The states of many contents are asked about in several questions too, and all of them before anything is given up: it may
// have spent the last one.
func TestAllStatesAreAskedAbout(t *testing.T) {
	t.Parallel()
	const count = 2*mostRead + 2
	a := newAway(t, count)
	var known []wire.Whole
	for i, w := range a.attempt {
		if i != 1 { // it has spent the state of the first
			known, a.unspent[a.state(i)] = append(known, w), i > 0
		}
	}
	a.absent.hearContents(known)
	if len(a.Book.Missing()) != 1 || len(a.Book.States()) != count-1 {
		t.Fatalf("%d are missing, and %d states there: this test shows nothing", len(a.Book.Missing()), len(a.Book.States()))
	}
	a.fails = 1
	a.absent.reconcileStates(a.Book.States(), a.Book.Missing())
	a.settle()
	if len(a.Book.Missing()) != 1 {
		t.Fatal("it is given up, and the first question had no answer")
	}
	a.round(func() {})
	if len(a.Book.Missing()) > 0 || len(a.Book.States()) != count-2 || a.Book.Unspent(a.state(0)) {
		t.Errorf("%d are missing, and %d states there, want none and %d", len(a.Book.Missing()), len(a.Book.States()), count-2)
	}
	if size := slices.Max(a.asked); size > mostRead {
		t.Errorf("a question is about %d states, want %d at most", size, mostRead)
	}
}

// P12: contents that are heard while the ledger is asked may have a state that was spent by what is given up then. Nothing
// else would ask about it: nothing is missing any more.
func TestWhatIsHeardMeanwhileIsAskedAbout(t *testing.T) {
	t.Parallel()
	a := newAway(t, 2) // the second has spent the state of the first
	a.unspent[a.state(0)] = false
	a.round(func() { a.absent.hearContents(a.attempt[:1]) })
	if len(a.Book.Missing()) > 0 || len(a.Book.States()) > 0 {
		t.Errorf("%d are missing, and %d states there, want none", len(a.Book.Missing()), len(a.Book.States()))
	}
}

// P12: what has spent a state may have been given up by an earlier start, before the state was heard of. So the ledger is asked about
// what is heard late, until it answers, and the contract sleeps no earlier. The state seemed to be there for ever otherwise, and what
// was built on it was endorsed by nobody.
func TestWhatAnEarlierStartGaveUpIsGone(t *testing.T) {
	t.Parallel()
	a := newAway(t, 3) // the second has spent the state of the first, and another one that of the third
	var missing []book.Missing
	for _, i := range []int{0, 2} {
		missing = append(missing, book.Missing{Intent: a.attempt[i].Attempt.Intent, Assembled: a.named(i), Number: 1})
	}
	opened, err := newCore("alice", declared("alice")).Open("k", Read{Lineage: 1, Stored: Stored{Book: book.Snapshot{Number: 9, Missing: missing}}})
	if err != nil {
		t.Fatal(err)
	}
	a.desk = &desk{opened.contract, t}
	a.step(opened)
	a.fails = 1
	a.absent.hearContents(a.attempt[:1])
	for range 2 {
		a.settle()
		a.step(Tick{}) // too soon for another question
	}
	if len(a.asked) != 1 || len(a.Book.States()) != 1 {
		t.Fatalf("%d questions, %d states: this test shows nothing", len(a.asked), len(a.Book.States()))
	}
	for round, want := range []struct {
		asked, states int
		awake         bool
	}{{3, 1, true}, {4, 0, true}, {4, 0, false}} { // one of the first is whether the other may be given up
		a.core.now += 2 * time.Hour
		a.step(Tick{})
		if round == 0 {
			a.absent.hearContents(a.attempt[2:]) // while it is asked about the first
			a.core.now += time.Minute
			a.step(Tick{})
		}
		a.settle()
		a.step(Written{IDs: slices.Sorted(maps.Keys(a.core.writing))})
		if states, awake := len(a.Book.States()), a.core.IsAwake("k"); len(a.asked) != want.asked || states != want.states || awake != want.awake {
			t.Errorf("round %d: %d questions, %d states, awake %v; want %+v", round, len(a.asked), states, awake, want)
		}
	}
}

// P12: the same holds if the node is killed between the last of the contents and the ledger's answer: what is stored has the doubt, so that the
// next start asks too. Once that is answered no later one does.
func TestADoubtOutlivesAStart(t *testing.T) {
	t.Parallel()
	a := newAway(t, 2) // the second has spent the state of the first, and an earlier start has given it up
	stored := book.Snapshot{Number: 9, Missing: []book.Missing{{Intent: a.attempt[0].Attempt.Intent, Assembled: a.named(0), Number: 1}}}
	hears := Received{From: "alice", Message: request(wire.Attempts{Attempts: a.attempt[:1]})}
	hears.Message.Request.Incarnation = wire.Incarnation{3} // of its requests for contents
	for start, want := range []struct {
		does   Input
		asks   bool
		states int
	}{{hears, true, 1}, {Tick{}, true, 0}, {Tick{}, false, 0}} {
		opened, err := newCore("alice", declared("alice")).Open("k", Read{Lineage: 1, Stored: Stored{Book: stored}})
		if err != nil {
			t.Fatal(err)
		}
		a.desk = &desk{opened.contract, t}
		a.step(opened)
		a.step(want.does)
		question, asks := next[ReadFinal](a.desk)
		if asks && start > 0 { // the first one is killed before
			a.step(Answered{ID: question.ID, Final: asOf{number: 9}})
		}
		for _, id := range slices.Sorted(maps.Keys(a.core.writing)) {
			stored = afterwards(stored, a.core.writing[id].Change.Book)
		}
		if states := len(a.Book.States()); asks != want.asks || states != want.states {
			t.Errorf("start %d: it asks the ledger %v, and %d states are there; want %v and %d", start, asks, states, want.asks, want.states)
		}
	}
}

// afterwards is what a store has once a change is written.
func afterwards(s book.Snapshot, c *book.Change) book.Snapshot {
	if c == nil {
		return s
	}
	s.Number = c.Number
	s.Missing = slices.DeleteFunc(append(s.Missing, c.Missing...), func(m book.Missing) bool { return slices.Contains(c.Heard, m.Assembled) })
	s.States = slices.DeleteFunc(append(s.States, c.Added...), func(st domain.State) bool { return slices.Contains(c.Removed, st.ID) })
	return s
}

// The ledger is asked about what has landed up to the final block, that block included, and about nothing later: its answer
// would be of a block that may not have it.
func TestWhatIsFinalIsAskedAbout(t *testing.T) {
	t.Parallel()
	var missing []book.Missing
	for n := uint64(5); n <= 9; n++ {
		missing = append(missing, book.Missing{Number: n})
	}
	for doubted, want := range map[uint64]string{0: "[5 6 7]", 5: "[6 7 5]", 7: "[5 6 7]"} {
		c := absent{doubted: book.Missing{Number: doubted}}
		var got []uint64
		for _, m := range c.doubtsInTurn(missing, 7) {
			got = append(got, m.Number)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("after block %d it asks about %v, want %s", doubted, got, want)
		}
	}
}

// Q14: a member that was away lacks more than one request asks for, and what landed first is forgotten everywhere. It
// asks for what landed later too, in its turn.
func TestWhatNobodyHasHidesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "bob"))
	const lacked = 2*1000 + 7
	in := ledger.Block{Number: 1}
	for i := range uint64(lacked) {
		var h ledger.Hash
		binary.BigEndian.PutUint64(h[:], i+1)
		in.Facts = append(in.Facts, ledger.Fact{Intent: ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: i}}, Assembled: h})
	}
	if err := d.Book.Block(in); err != nil {
		t.Fatal(err)
	}
	asked := map[ledger.Hash]bool{}
	for range 6 {
		d.absent.fetchAt = 0
		d.absent.fetchMissing()
		if one, is := next[ReadAttempts](d); is {
			for _, h := range one.Named {
				asked[h] = true
			}
		}
	}
	if len(asked) != lacked {
		t.Errorf("%d of %d are asked for", len(asked), lacked)
	}
}

// Q2: a need whose creator the owner does not know kills nothing, so the ledger is not asked for it. Else a ledger that
// refuses the question is asked again for ever, and every intent that is judged with it never ends.
func TestANeedWithoutACreatorIsNotAskedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "north", declared("north"))
	own := ledger.Intent{Owner: "north", Sequence: ledger.Sequence{Lineage: 1, Counter: 1}}
	given := grants.Given{Intent: own, Assembled: ledger.Hash{1}, ValidUntil: 9, Needs: []grants.Need{{State: ledger.StateID{2}}}}
	read := false
	d.readFinal([]grants.Given{given}, func(f ledger.View) {
		read = true
		if end := grants.Kills(f, given); end != grants.Alive {
			t.Errorf("the grant is %v, want it alive", end)
		}
	})
	asked := must[ReadFinal](d)
	if !slices.Equal(asked.Intents, []ledger.Intent{own}) || len(asked.States) > 0 || !asked.Insist {
		t.Errorf("it asks for %+v", asked)
	}
	if d.step(Answered{ID: asked.ID, Final: asOf{}}); !read {
		t.Error("the ledger was not read")
	}
}
