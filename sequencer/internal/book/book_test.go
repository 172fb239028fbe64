package book

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// whole returns alice's attempt with a counter, over states, that creates one state for each letter.
func whole(counter uint64, letters string, inputs ...ledger.StateID) wire.Whole {
	w := wire.Whole{Payload: []byte{byte(counter)}}
	w.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: counter}}, Payload: domain.PayloadHash(w.Payload), Inputs: inputs}
	for i := range letters {
		secret := domain.Secret{Salt: [16]byte{byte(i)}, Data: []byte{letters[i]}}
		w.Outputs, w.Attempt.Outputs = append(w.Outputs, secret), append(w.Attempt.Outputs, secret.Commitment())
	}
	return w
}

func named(w wire.Whole) ledger.Hash { return fake.Assembled(deal, w.Attempt) }

func output(w wire.Whole, i int) ledger.StateID { return fake.State(named(w), i) }

// lands feeds the next block, in which these have landed.
func lands(t testing.TB, b *Book, all ...wire.Whole) {
	t.Helper()
	head, _ := b.Height()
	next := ledger.Block{Number: head + 1}
	for _, w := range all {
		next.Facts = append(next.Facts, ledger.Fact{Intent: w.Attempt.Intent, Payload: w.Attempt.Payload, Assembled: named(w)})
	}
	if err := b.Block(next); err != nil {
		t.Fatal(err)
	}
}

func hears(t testing.TB, b *Book, all ...wire.Whole) {
	t.Helper()
	for _, w := range all {
		if _, err := b.Hear(w); err != nil {
			t.Fatal(err)
		}
	}
}

// What no honest member sends is refused, and named all the same, so that it can be answered.
func TestWhatIsMalformed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*wire.Whole)
		says  string
	}{
		"a stranger's":         {func(w *wire.Whole) { w.Attempt.Owner = "eve" }, "no member"},
		"falling inputs":       {func(w *wire.Whole) { w.Attempt.Inputs = []ledger.StateID{{2}, {1}} }, "rising"},
		"one input twice":      {func(w *wire.Whole) { w.Attempt.Inputs = []ledger.StateID{{1}, {1}} }, "rising"},
		"one read twice":       {func(w *wire.Whole) { w.Attempt.Reads = []ledger.StateID{{1}, {1}} }, "rising"},
		"a read is an input":   {func(w *wire.Whole) { w.Attempt.Inputs, w.Attempt.Reads = []ledger.StateID{{1}}, []ledger.StateID{{1}} }, "read is an input"},
		"another payload":      {func(w *wire.Whole) { w.Payload = []byte("other") }, "another payload"},
		"no contents":          {func(w *wire.Whole) { w.Outputs = nil }, "commits to 2 outputs and comes with 0"},
		"too many contents":    {func(w *wire.Whole) { w.Outputs = append(w.Outputs, domain.Secret{}) }, "comes with 3"},
		"contents changed":     {func(w *wire.Whole) { w.Outputs[1].Data = []byte("c") }, "output 1"},
		"contents in disorder": {func(w *wire.Whole) { slices.Reverse(w.Outputs) }, "output 0"},
	} {
		b, w := open(t, 0), whole(1, "ab")
		c.spoil(&w)
		h, err := b.Hear(w)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.says) || h != named(w) {
			t.Errorf("%s: got %v and error %v, want its name and %q", name, h, err, c.says)
		}
		if _, is := b.Whole(h); is || len(b.states) > 0 {
			t.Errorf("%s: it is remembered", name)
		}
	}
}

// P17, P36: an attempt in flight shows its states to those who have to judge what uses them, and to no view.
func TestWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b, w := open(t, 0), whole(1, "a")
	hears(t, b, w, w)
	id := output(w, 0)
	if s, is := b.Known(id); !is || string(s.Data) != "a" || s.Creator != w.Attempt.Intent || s.Assembled != named(w) || s.ID != id {
		t.Errorf("got the state %+v, %v", s, is)
	}
	if got, is := b.Whole(named(w)); !is || named(got) != named(w) {
		t.Errorf("got the attempt %+v, %v", got, is)
	}
	if _, is := b.State(id); is || b.Unspent(id) || len(slices.Collect(b.Labelled("a", 1))) > 0 {
		t.Error("it is in the view, and has not landed")
	}
	lands(t, b, w)
	if _, is := b.State(id); !is || !b.Unspent(id) || len(slices.Collect(b.Labelled("a", 1))) != 1 {
		t.Error("it is not in the view, and has landed")
	}
	if err := b.Rewind(ledger.Rewind{To: 0}); err != nil || b.Unspent(id) {
		t.Errorf("it is in the view after a rewind (error %v)", err)
	}
}

// Q14: heard in any order, two attempts of which one spends what the other creates leave the same.
func TestHeardLate(t *testing.T) {
	t.Parallel()
	first := whole(1, "a")
	second := whole(2, "b", output(first, 0))
	for name, later := range map[string]uint64{"at once": 0, "before it is final": 1, "after it is final": 9} {
		for order, all := range map[string][]wire.Whole{"first": {first, second}, "second": {second, first}} {
			b := open(t, 0)
			lands(t, b, first)
			lands(t, b, second)
			for range later {
				lands(t, b)
			}
			if got := b.Missing(); len(got) != 2 || got[0] != (Missing{first.Attempt.Intent, named(first), 1}) {
				t.Errorf("%s, %s: missing %v", name, order, got)
			}
			hears(t, b, all[0])
			if got := len(b.Missing()); got != 1 {
				t.Errorf("%s, %s: %d are missing after one was heard", name, order, got)
			}
			hears(t, b, all[1])
			if b.Unspent(output(first, 0)) || !b.Unspent(output(second, 0)) || len(b.Missing()) > 0 {
				t.Errorf("%s, %s heard first: want the state of the second alone", name, order)
			}
		}
	}
}

// What never lands is forgotten Life + Depth blocks after it was last heard; of too many, the one heard longest ago.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	remembered := func(b *Book, all ...wire.Whole) (names string) {
		for i, w := range all {
			if _, is := b.Whole(named(w)); is {
				names += string(rune('1' + i))
			}
		}
		return names
	}
	all := []wire.Whole{whole(1, "a"), whole(2, "b"), whole(3, "c"), whole(4, "a")}
	b := open(t, 0)
	lands(t, b)
	hears(t, b, all[:3]...)
	for range deal.Life + deal.Depth - 1 {
		lands(t, b)
	}
	hears(t, b, all[1])
	if got := remembered(b, all...); got != "123" {
		t.Errorf("remembers %q, want 123", got)
	}
	if lands(t, b); remembered(b, all...) != "2" || len(b.states) != 1 {
		t.Errorf("remembers %q and %d states, want what was heard again", remembered(b, all...), len(b.states))
	}
	b = open(t, 2)
	hears(t, b, all[0], all[1], all[0], all[2])
	if got := remembered(b, all...); got != "13" {
		t.Errorf("remembers %q, want the two heard last", got)
	}
	lands(t, b, all[0])
	hears(t, b, all[3]) // what has landed does not count
	if got := remembered(b, all...); got != "134" {
		t.Errorf("remembers %q, want 134", got)
	}
	if err := b.Rewind(ledger.Rewind{}); err != nil {
		t.Fatal(err)
	}
	if got := remembered(b, all...); got != "14" {
		t.Errorf("after the rewind it remembers %q, want the two heard last", got)
	}
	for range 10 {
		lands(t, b)
	}
	if len(b.attempts)+len(b.states)+len(b.landed)+len(b.spent)+len(b.blocks)-int(deal.Depth) != 0 {
		t.Errorf("an idle book keeps %d attempts, %d states, %d blocks", len(b.attempts), len(b.states), len(b.blocks))
	}
}

// A book that was told nonsense says so and stays as it was.
func TestWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	b, w := open(t, 0), whole(1, "a")
	hears(t, b, w)
	if err := b.Rewind(ledger.Rewind{To: 7}); err != nil {
		t.Error(err)
	}
	if err := b.Block(ledger.Block{Number: 100}); err != nil {
		t.Errorf("the first block may have any number: %v", err)
	}
	for range 5 {
		lands(t, b)
	}
	lands(t, b, w)
	for _, n := range []uint64{0, 5, 106, 108} {
		if err := b.Block(ledger.Block{Number: n}); !errors.Is(err, ErrOrder) {
			t.Errorf("block %d after 106: error %v", n, err)
		}
	}
	if err := b.Rewind(ledger.Rewind{To: 102}); !errors.Is(err, ErrFinal) {
		t.Errorf("to below 103: error %v", err)
	}
	if head, final := b.Height(); head != 106 || final != 103 || !b.Unspent(output(w, 0)) {
		t.Errorf("head %d, final %d; want 106 and 103, and nothing changed", head, final)
	}
	if err := b.Rewind(ledger.Rewind{To: 103}); err != nil || b.Unspent(output(w, 0)) {
		t.Errorf("to the final block: error %v", err)
	}
	if head, final := b.Height(); head != 103 || final != 103 {
		t.Errorf("head %d, final %d; want 103: it never decreases", head, final)
	}
	if err := b.Load(Snapshot{}); err == nil {
		t.Error("loaded into a book with contents")
	}
}

// What was skipped or cancelled has no attempt that could be missing.
func TestWhatDidNotLand(t *testing.T) {
	t.Parallel()
	b, w := open(t, 0), whole(1, "a")
	hears(t, b, w)
	facts := []ledger.Fact{
		{Intent: w.Attempt.Intent, Assembled: named(w), Skipped: ledger.Missing},
		{Intent: w.Attempt.Intent},
	}
	if err := b.Block(ledger.Block{Number: 1, Facts: facts}); err != nil || len(b.Missing()) > 0 || b.Unspent(output(w, 0)) {
		t.Errorf("missing %v, unspent %v, error %v", b.Missing(), b.Unspent(output(w, 0)), err)
	}
}

// Nothing is told twice, and what came and went in between is not told.
func TestFinal(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "ab")
	second := whole(2, "c", output(first, 0))
	hears(t, b, first, second)
	if c, is := b.Final(); is {
		t.Errorf("before any block: %+v", c)
	}
	lands(t, b, first, second)
	for range deal.Depth {
		lands(t, b)
	}
	c, is := b.Final()
	if !is || c.Number != 1 || len(c.Added) != 2 || len(c.Removed)+len(c.Missing)+len(c.Heard)+len(c.Early)+len(c.Late) > 0 {
		t.Errorf("got %+v, want the two states that are there", c)
	}
	if c, is := b.Final(); is {
		t.Errorf("told again: %+v", c)
	}
	if lands(t, b); true {
		if c, is := b.Final(); !is || c.Number != 2 {
			t.Errorf("a block without attempts became final: %+v, %v", c, is)
		}
	}
}

func TestFaultsOfAConfig(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Most: -1})
	for _, want := range []string{"its members are nobody", "scheme and rules", "-1 attempts"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// The ledger is believed, but one that contradicts itself stops no node: it repeats a landing, and has an attempt spend
// what was never created.
func TestALedgerThatContradictsItself(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "a")
	second := whole(2, "b", output(first, 0))
	hears(t, b, first, second)
	lands(t, b, second, second)
	lands(t, b, second)
	if err := b.Rewind(ledger.Rewind{To: 0}); err != nil || b.Unspent(output(first, 0)) || b.Unspent(output(second, 0)) || len(b.labels) > 0 {
		t.Errorf("after a rewind something is there (error %v)", err)
	}
	lands(t, b, second)
	for range deal.Depth {
		lands(t, b)
	}
	if c, _ := b.Final(); len(c.Added) != 1 || len(c.Removed) > 0 || !slices.Equal(c.Early, []ledger.StateID{output(first, 0)}) {
		t.Errorf("got %+v, want the spent state as an early one", c)
	}
	if lands(t, b, first); b.Unspent(output(first, 0)) {
		t.Error("a state appears after it was spent")
	}
}

// What is known is not believed from others in another form: who asks about it with other contents is refused.
func TestKnownAttemptsAreComparedAgain(t *testing.T) {
	t.Parallel()
	b, w := open(t, 0), whole(1, "ab")
	hears(t, b, w)
	forged := w
	forged.Outputs = []domain.Secret{w.Outputs[0], {Data: []byte("c")}}
	if _, err := b.Hear(forged); !errors.Is(err, ErrMalformed) {
		t.Errorf("other contents of a known attempt: error %v", err)
	}
	forged = w
	forged.Payload = []byte("other")
	if _, err := b.Hear(forged); !errors.Is(err, ErrMalformed) {
		t.Errorf("another payload of a known attempt: error %v", err)
	}
}

// A contract is younger than its chain: a node that has stored nothing of it begins with whatever block it is told.
func TestAYoungContract(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	if err := b.Load(Snapshot{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Block(ledger.Block{Number: 19_000_000}); err != nil {
		t.Errorf("the first block: %v", err)
	}
	if err := b.Block(ledger.Block{Number: 19_000_002}); !errors.Is(err, ErrOrder) {
		t.Errorf("the next but one: got error %v, want ErrOrder", err)
	}
}

// The ledger has decided an attempt that has landed, and one that needs what another has spent.
func TestWhatIsDecided(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first := whole(1, "ab")
	spends, also, other := whole(2, "c", output(first, 0)), whole(3, "d", output(first, 0)), whole(4, "e", output(first, 1))
	reads, looks := whole(5, "f"), whole(6, "g")
	reads.Attempt.Reads, looks.Attempt.Reads = []ledger.StateID{output(first, 0)}, []ledger.StateID{output(first, 1)}
	hears(t, b, first, spends)
	lands(t, b, first)
	lands(t, b, spends)
	for name, c := range map[string]struct {
		of   wire.Whole
		want bool
	}{
		"it has landed, and needed nothing": {first, true},
		"it has landed":                     {spends, true},
		"its input is spent":                {also, true},
		"what it reads is spent":            {reads, true},
		"its input is there":                {other, false},
		"what it reads is there":            {looks, false},
	} {
		if got := b.Decided(named(c.of), c.of.Attempt); got != c.want {
			t.Errorf("%s: decided %v", name, got)
		}
	}
}
