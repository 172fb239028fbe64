package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// trim forgets what has ended in contract k for longer than an age.
func trim(t *testing.T, s sequencer.Store, age time.Duration, most int) sequencer.Trimmed {
	t.Helper()
	n, err := s.Trim(t.Context(), map[string]time.Duration{"k": age, "unknown": age}, most)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// known returns the names of those of the attempts whose contents are stored: of whole ones, the byte that whole was given.
func known(t *testing.T, s sequencer.Store, names ...byte) (got []byte) {
	t.Helper()
	var hashes []ledger.Hash
	for _, name := range names {
		hashes = append(hashes, ledger.Hash{name})
	}
	all, err := s.Attempts(t.Context(), "k", hashes)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		got = append(got, w.Attempt.Data[0])
	}
	slices.Sort(got)
	return got
}

func settled(c book.Change) core.Change { return core.Change{Contract: "k", Book: &c} }

func landed(name byte) book.Landed {
	return book.Landed{Assembled: ledger.Hash{name}, Whole: whole(ledger.Intent{Owner: "z", Sequence: number(uint64(name))}, name)}
}

// P28, P41: an intent is forgotten with its key and its grants when it has ended for as long as is said, and not before. Then
// its key is that of a new one. An open one is never forgotten.
func trimmedIntents(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a"), row(2, "b"), row(3, "c")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1), grant(1, 11, 2), grant(2, 20, 1)}}))
	write(t, s, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1), Why: "late"}, {Sequence: number(3), Why: "late"}}}))
	before := load(t, s, "k")
	want(t, "what is forgotten within the hour", trim(t, s, time.Hour, 100), sequencer.Trimmed{})
	_, is, err := s.Find(t.Context(), "k", "a")
	want(t, "whether the key names something", []any{is, err}, []any{true, error(nil)})
	want(t, "what is forgotten of one at a time", trim(t, s, 0, 1), sequencer.Trimmed{Intents: 1})
	want(t, "what is forgotten then", trim(t, s, 0, 100), sequencer.Trimmed{Intents: 1})
	want(t, "what is forgotten at last", trim(t, s, 0, 100), sequencer.Trimmed{})
	want(t, "what a start reads", load(t, s, "k"), before)
	want(t, "the contents", known(t, s, 10, 11, 20), []byte{20})
	_, is, err = s.Find(t.Context(), "k", "a")
	want(t, "whether the key names something", []any{is, err}, []any{false, error(nil)})
	all, err := s.List(t.Context(), "k", sequencer.Filter{})
	want(t, "those that are listed", []any{len(all), err}, []any{1, error(nil)})
	last := all[0].Number
	want(t, "one with the key of another", write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(4, "a")}})), []core.Twice(nil))
	all, err = s.List(t.Context(), "k", sequencer.Filter{Before: 0, Most: 1})
	if err != nil || len(all) != 1 || all[0].Number <= last {
		t.Errorf("the newest is %+v, error %v; want a number above %d", all, err, last)
	}
}

// Q14: contents that have landed stay until the book says that their states are spent, whatever became of the intent, and also
// when the store has not heard of the landing yet.
func trimmedContents(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a"), row(2, "b")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1), grant(1, 11, 2), grant(2, 20, 1)}}))
	write(t, s, settled(book.Change{Number: 1, Landed: []book.Landed{{Assembled: ledger.Hash{10}, Whole: grant(1, 10, 1).Whole}, landed(30), landed(31)}}))
	write(t, s, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1), Confirmed: true, Assembled: ledger.Hash{10}}, {Sequence: number(2), Confirmed: true, Assembled: ledger.Hash{20}}}}))
	want(t, "what is forgotten", trim(t, s, 0, 100), sequencer.Trimmed{Intents: 2})
	want(t, "the contents", known(t, s, 10, 11, 20, 30, 31), []byte{10, 20, 30, 31})
	write(t, s, settled(book.Change{Number: 2, Spent: []ledger.Hash{{10}, {30}}}))
	want(t, "what is forgotten within the hour", trim(t, s, time.Hour, 100), sequencer.Trimmed{})
	want(t, "what is forgotten of one at a time", trim(t, s, 0, 1), sequencer.Trimmed{Attempts: 1})
	want(t, "what is forgotten then", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	want(t, "the contents", known(t, s, 10, 20, 30, 31), []byte{20, 31})
	write(t, s, settled(book.Change{Number: 3, Landed: []book.Landed{landed(33)}, Spent: []ledger.Hash{{33}}}))
	want(t, "what has come and gone", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(3, "c")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(3, 40, 1)}}))
	write(t, s, settled(book.Change{Number: 4, Landed: []book.Landed{{Assembled: ledger.Hash{40}, Whole: grant(3, 40, 1).Whole}}}), owned(sender.Store{Results: []ledger.Result{{Sequence: number(3), Why: "not true"}}}))
	want(t, "what is forgotten", trim(t, s, 0, 100), sequencer.Trimmed{Intents: 1})
	want(t, "the contents: the book is believed", known(t, s, 40), []byte{40})
}

// P38, P40: what a dispatch names is read at a start. What it names no more, and has not landed, goes; if it lands after all
// it is needed again.
func trimmedDispatches(t *testing.T, s sequencer.Store) {
	one, two, other := dispatch("x", 1, 1), dispatch("y", 1, 2), dispatch("x", 1, 9)
	write(t, s, core.Change{Contract: "k", Rows: []coordinator.Row{one, two}})
	write(t, s, settled(book.Change{Number: 1, Landed: []book.Landed{{Assembled: ledger.Hash{1}, Whole: one.Whole}}}))
	write(t, s, settled(book.Change{Number: 1, Undone: []ledger.Hash{{1}}})) // a reorganisation
	before := load(t, s, "k")
	want(t, "what is forgotten of dispatches", trim(t, s, 0, 100), sequencer.Trimmed{})
	want(t, "what a start reads", load(t, s, "k"), before)
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{one.Attempt.Intent}}, core.Change{Contract: "k", Rows: []coordinator.Row{other}})
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{two.Attempt.Intent}}, settled(book.Change{Number: 2, Landed: []book.Landed{{Assembled: ledger.Hash{2}, Whole: two.Whole}}}))
	want(t, "what is forgotten", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	want(t, "the contents", known(t, s, 1, 2, 9), []byte{2, 9})
	three := dispatch("z", 3, 3)
	mine := dispatch("me", 1, 10) // this node coordinates its own intent, and has not read yet that the ledger has decided
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1)}}), core.Change{Contract: "k", Rows: []coordinator.Row{mine}}, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1), Why: "late"}}}))
	want(t, "what is forgotten of an intent with a dispatch", trim(t, s, 0, 100), sequencer.Trimmed{Intents: 1})
	want(t, "the contents of the dispatch", known(t, s, 10), []byte{10})
	load(t, s, "k")
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{mine.Attempt.Intent}})
	want(t, "what is forgotten when the dispatch is over", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	write(t, s, core.Change{Contract: "k", Rows: []coordinator.Row{three}}, core.Change{Contract: "k", Over: []ledger.Intent{three.Attempt.Intent, other.Attempt.Intent}})
	write(t, s, core.Change{Contract: "k", Book: &book.Change{Number: 3, Landed: []book.Landed{{Assembled: ledger.Hash{9}, Whole: other.Whole}}}})
	want(t, "what is forgotten of two that are over", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	want(t, "the contents", known(t, s, 2, 3, 9), []byte{2, 9})
}

// A reorganisation takes back what has landed: it is forgotten unless it lands again, or somebody waits for it.
func trimmedAfterReorganisations(t *testing.T, s sequencer.Store) {
	write(t, s, settled(book.Change{Number: 1, Landed: []book.Landed{landed(30), landed(31)}}))
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1)}}), settled(book.Change{Number: 1, Landed: []book.Landed{{Assembled: ledger.Hash{10}, Whole: grant(1, 10, 1).Whole}}}))
	write(t, s, settled(book.Change{Number: 1, Undone: []ledger.Hash{{10}, {30}, {31}}}))
	write(t, s, settled(book.Change{Number: 2, Landed: []book.Landed{landed(31)}}))
	want(t, "what is forgotten", trim(t, s, 0, 100), sequencer.Trimmed{Attempts: 1})
	want(t, "the contents", known(t, s, 10, 30, 31), []byte{10, 31})
	want(t, "the grants of the open intent", len(load(t, s, "k").Intents[0].Grants), 1)
}

// Other contracts have their own ages.
func trimmedApart(t *testing.T, s sequencer.Store) {
	other := owned(sender.Store{Intents: []sender.IntentRow{row(2, "a")}, Results: []ledger.Result{{Sequence: number(2)}}})
	other.Contract = "other"
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}, Results: []ledger.Result{{Sequence: number(1)}}}), other)
	n, err := s.Trim(t.Context(), map[string]time.Duration{"k": 0, "other": time.Hour}, 100)
	want(t, "what is forgotten", []any{n, err}, []any{sequencer.Trimmed{Intents: 1}, error(nil)})
	_, is, err := s.Find(t.Context(), "other", "a")
	want(t, "whether that of the other is there", []any{is, err}, []any{true, error(nil)})
}
