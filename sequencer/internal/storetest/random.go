package storetest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Whatever users, rules and members say is stored, and comes back as it was: a node that could not store it would stand
// still. So are the largest numbers.
func odd(t *testing.T, s sequencer.Store) {
	long := make([]byte, 10_000)
	chance := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // it shall be the same each time
	for i := range long {
		long[i] = byte(chance.Uint32())
	}
	for i, text := range []string{"", "\x00", "\xff\xfe", "ü€😀", string(long), strings.Repeat("a", 100_000)} {
		in := sender.IntentRow{Sequence: ledger.Sequence{Lineage: math.MaxUint64, Counter: uint64(i)}, Key: text, Payload: []byte(text + "!"), Deadline: math.MaxUint64}
		write(t, s, owned(sender.Store{Intents: []sender.IntentRow{in}, Marks: []sender.Mark{{Sequence: in.Sequence, GivenUp: text}}}))
		stored := load(t, s, "k").Intents
		want(t, "an odd intent", stored, []sender.Loaded{{IntentRow: in, GivenUp: text}})
		result := ledger.Result{Sequence: in.Sequence, Block: math.MaxUint64, Why: text}
		write(t, s, owned(sender.Store{Results: []ledger.Result{result}}))
		found, is, err := s.Find(t.Context(), "k", text)
		want(t, "its result", []any{rowOf(found), found.Result, is, err}, []any{in, result, true, error(nil)})
	}
}

// P38, P41: whatever is written, how many changes at once, and how often, a store has what the one in memory has.
func random(t *testing.T, s, model sequencer.Store) {
	draw := &drawing{Rand: rand.New(rand.NewPCG(3, 8)), first: map[string]ledger.Sequence{}} //nolint:gosec // it shall be the same each time
	rounds := runtest.ByDay(60, 120)
	for round := range rounds {
		var changes []core.Change
		for range 1 + draw.IntN(6) {
			changes = append(changes, draw.change())
		}
		for range 1 + draw.IntN(2) {
			want(t, "those without a row", write(t, s, changes...), write(t, model, changes...))
		}
		want(t, "what is stored", load(t, s, "k"), load(t, model, "k"))
		if round%10 == 9 {
			want(t, "what is forgotten", trim(t, s, 0, 1000), trim(t, model, 0, 1000))
			want(t, "what is stored after that", load(t, s, "k"), load(t, model, "k"))
		}
		if t.Failed() {
			t.Fatalf("in round %d, by %+v", round, changes)
		}
	}
	var all []ledger.Hash
	for name := range 256 {
		all = append(all, ledger.Hash{byte(name)})
	}
	got, err := s.Attempts(t.Context(), "k", all)
	if err != nil {
		t.Fatal(err)
	}
	known, _ := model.Attempts(t.Context(), "k", all) // it cannot fail
	for _, list := range [][]wire.Whole{got, known} {
		slices.SortFunc(list, func(a, b wire.Whole) int { return bytes.Compare(a.Attempt.Data, b.Attempt.Data) })
	}
	want(t, "the contents", got, known)
	for key := range draw.first {
		found, is, err := s.Find(t.Context(), "k", key)
		also, there, _ := model.Find(t.Context(), "k", key)
		found.Number, found.Accepted, also.Number, also.Accepted = 0, time.Time{}, 0, time.Time{} // each has its own
		want(t, "what has the key "+key, []any{found, is, err}, []any{also, there, error(nil)})
	}
}

// drawing draws changes of one contract.
type drawing struct {
	*rand.Rand

	first   map[string]ledger.Sequence // what a key names
	known   []ledger.Sequence          // those that have a row
	counter uint64
	block   uint64
}

func (d *drawing) change() core.Change {
	c := core.Change{Contract: "k"}
	if d.IntN(2) == 0 {
		c.Sender = d.owner()
	}
	intent := func() (ledger.Account, uint64) {
		return ledger.Account([]string{"x", "y"}[d.IntN(2)]), uint64(d.IntN(3))
	}
	for range d.IntN(3) {
		owner, n := intent()
		c.Rows = append(c.Rows, d.row(owner, n))
	}
	for range d.IntN(2) {
		owner, n := intent()
		c.Noted = append(c.Noted, ledger.Intent{Owner: owner, Sequence: number(n)})
	}
	for range d.IntN(2) {
		owner, n := intent()
		c.Over = append(c.Over, ledger.Intent{Owner: owner, Sequence: number(n)})
	}
	if d.IntN(2) == 0 {
		c.Book = d.book()
	}
	return c
}

// row is a dispatch whose hash says what its contents are.
func (d *drawing) row(owner ledger.Account, n uint64) coordinator.Row {
	return dispatch(owner, n, byte(n)*8+owner[0]%2*4+byte(d.IntN(4)))
}

func (d *drawing) owner() *sender.Store {
	var s sender.Store
	for range d.IntN(3) {
		if d.counter == 90 { // each grant of each has a hash of one byte
			break
		}
		d.counter++
		one := row(d.counter, string(rune('a'+d.IntN(60))))
		s.Intents = append(s.Intents, one)
		if _, is := d.first[one.Key]; !is {
			d.first[one.Key] = one.Sequence
			d.known = append(d.known, one.Sequence)
		}
	}
	for range d.IntN(4) {
		if len(d.known) == 0 {
			break
		}
		n := d.known[d.IntN(len(d.known))]
		switch d.IntN(4) {
		case 0:
			g := grant(n.Counter, byte(30+2*n.Counter)+byte(d.IntN(2)), uint64(d.IntN(3)))
			s.Grants = append(s.Grants, g)
			if d.IntN(4) == 0 {
				s.Grants = append(s.Grants, g)
			}
		case 1:
			s.Marks = append(s.Marks, sender.Mark{Sequence: n, Failures: d.IntN(3), GivenUp: []string{"", "late"}[d.IntN(2)]})
		case 2:
			s.Marks = append(s.Marks, sender.Mark{Sequence: n, Dispatched: ledger.Hash{byte(d.IntN(3))}, Over: ledger.Hash{byte(d.IntN(3))}})
		case 3:
			if d.IntN(3) == 0 {
				s.Results = append(s.Results, ledger.Result{Sequence: n, Confirmed: d.IntN(2) == 0, Assembled: ledger.Hash{byte(d.IntN(3))}, Block: 7, Why: "x"})
			}
		}
	}
	return &s
}

func (d *drawing) book() *book.Change {
	d.block++
	c := &book.Change{Number: d.block}
	for name := byte(1); name < 7; name++ {
		in := ledger.Intent{Owner: "x", Sequence: number(uint64(name))}
		switch d.IntN(8) {
		case 0:
			c.Added = append(c.Added, domain.State{ID: ledger.StateID{name}, Creator: in, Assembled: ledger.Hash{name}, Secret: domain.Secret{Data: []byte{name}}})
		case 1:
			c.Removed = append(c.Removed, ledger.StateID{name})
		case 2:
			c.Missing = append(c.Missing, book.Missing{Intent: in, Assembled: ledger.Hash{name}, Number: uint64(9 - name)})
		case 3:
			c.Heard = append(c.Heard, ledger.Hash{name})
		case 4:
			c.Early = append(c.Early, ledger.StateID{name})
		case 5:
			c.Late = append(c.Late, ledger.StateID{name})
		}
	}
	switch name := byte(220 + d.IntN(30)); d.IntN(6) {
	case 0:
		c.Spent = append(c.Spent, ledger.Hash{name})
	case 1:
		c.Undone = append(c.Undone, ledger.Hash{name})
	case 2, 3:
		c.Landed = append(c.Landed, book.Landed{Assembled: ledger.Hash{name}, Whole: whole(ledger.Intent{Owner: "z"}, name)})
	}
	return c
}
