// Package storetest is the suite that every sequencer.Store must pass.
//
// Sources: requirements P28, P38 to P42.
package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Exercise runs each case on a store of its own. Open returns an empty one, and closes it when the test ends. What a store has is
// compared with what the model has, which is an empty one in memory.
func Exercise(t *testing.T, model func() sequencer.Store, open func(t *testing.T) sequencer.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, sequencer.Store){
		"intents": intents, "keys": keys, "grants": grantRows, "marks": marks, "results": results, "rows": rows,
		"book": books, "contents": contents, "again": again, "apart": apart, "list": list, "odd": odd, "random": func(t *testing.T, s sequencer.Store) { random(t, s, model()) },
		"trimmed intents": trimmedIntents, "trimmed contents": trimmedContents, "trimmed dispatches": trimmedDispatches,
		"trimmed after reorganisations": trimmedAfterReorganisations, "trimmed apart": trimmedApart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func write(t *testing.T, s sequencer.Store, changes ...core.Change) []core.Twice {
	t.Helper()
	twice, err := s.Write(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return twice
}

func load(t *testing.T, s sequencer.Store, contract string) core.Stored {
	t.Helper()
	stored, err := s.Load(t.Context(), contract)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func number(n uint64) ledger.Sequence { return ledger.Sequence{Lineage: 7, Counter: n} }

// rowOf returns the row of what was found.
func rowOf(f sequencer.Found) sender.IntentRow {
	return sender.IntentRow{Sequence: f.Sequence, Key: f.Key, Payload: f.Payload, Deadline: f.Deadline}
}

func row(n uint64, key string) sender.IntentRow {
	return sender.IntentRow{Sequence: number(n), Key: key, Payload: []byte("pay " + key), Deadline: n + 100}
}

func owned(s sender.Store) core.Change { return core.Change{Contract: "k", Sender: &s} }

// sequences are those of the loaded intents.
func sequences(s core.Stored) (all []uint64) {
	for _, l := range s.Intents {
		all = append(all, l.Sequence.Counter)
	}
	return all
}

// P28: intents come back as they were stored, in the order of their submission.
func intents(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(2, "b"), row(1, "a")}}), owned(sender.Store{Intents: []sender.IntentRow{row(3, "c")}}))
	got := load(t, s, "k")
	want(t, "the order", sequences(got), []uint64{2, 1, 3})
	want(t, "a row", got.Intents[0].IntentRow, row(2, "b"))
	found, is, err := s.Find(t.Context(), "k", "c")
	want(t, "what has the key c", []any{found.Sequence, found.Ended, is, err}, []any{number(3), false, true, error(nil)})
	_, is, err = s.Find(t.Context(), "k", "d")
	want(t, "what has no row", []any{is, err}, []any{false, error(nil)})
}

// P28: two of one key are one intent, also in one transaction, and also when the first has ended.
func keys(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	twice := write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(2, "a"), row(3, "b")}}), owned(sender.Store{Intents: []sender.IntentRow{row(4, "b")}}))
	want(t, "those without a row", twice, []core.Twice{{Contract: "k", Sequence: number(2)}, {Contract: "k", Sequence: number(4)}})
	write(t, s, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1), Confirmed: true}}}))
	want(t, "one of a key that has ended", write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(5, "a")}})), []core.Twice{{Contract: "k", Sequence: number(5)}})
	want(t, "the intents", sequences(load(t, s, "k")), []uint64{3})
}

func grant(n uint64, name byte, request uint64) sender.GrantRow {
	in := ledger.Intent{Owner: "me", Sequence: number(n)}
	hash := ledger.Hash{name}
	return sender.GrantRow{
		Given: grants.Given{
			Intent: in, Assembled: hash, ValidUntil: 30,
			Needs: []grants.Need{{State: ledger.StateID{3}, Creator: ledger.Intent{Owner: "you", Sequence: number(9)}, Assembled: ledger.Hash{4}}},
		},
		To: "you", Grant: ledger.Grant{Assembled: hash, Coordinator: "you", Delegation: ledger.Hash{5}, ValidUntil: 30},
		Request: wire.RequestID{Incarnation: wire.Incarnation{6}, Number: request}, Whole: whole(in, name),
	}
}

func whole(in ledger.Intent, name byte) wire.Whole {
	return wire.Whole{
		Attempt: ledger.Attempt{Intent: in, Payload: ledger.Hash{name, 1}, Inputs: []ledger.StateID{{3}}, Outputs: []ledger.Hash{{name, 2}}, Data: []byte{name}},
		Payload: []byte{name}, Outputs: []domain.Secret{{Salt: [16]byte{name}, Data: []byte("state")}},
	}
}

// P38, P39: every grant that left is there after a restart, with what it needs and whom it was given to.
func grantRows(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a"), row(2, "b")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1), grant(2, 20, 1)}}), owned(sender.Store{Grants: []sender.GrantRow{grant(1, 11, 2)}}))
	got := load(t, s, "k").Intents
	want(t, "the grants of the first", got[0].Grants, []sender.GrantRow{grant(1, 10, 1), grant(1, 11, 2)})
	want(t, "the grants of the second", got[1].Grants, []sender.GrantRow{grant(2, 20, 1)})
}

// P38, D20: marks add up; what a mark does not name stays.
func marks(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	write(t, s,
		owned(sender.Store{Marks: []sender.Mark{{Sequence: number(1), Failures: 1}}}),
		owned(sender.Store{Marks: []sender.Mark{{Sequence: number(1), Dispatched: ledger.Hash{1}}}}),
		owned(sender.Store{Marks: []sender.Mark{{Sequence: number(1), Failures: 2, Over: ledger.Hash{1}}, {Sequence: number(1), GivenUp: "late"}}}))
	got := load(t, s, "k").Intents[0]
	want(t, "the marks", []any{got.Failures, got.Dispatched, got.Over, got.GivenUp}, []any{2, ledger.Hash{1}, ledger.Hash{1}, "late"})
}

// An intent that has ended is not loaded any more, and its user still finds it.
func results(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a"), row(2, "b")}}))
	result := ledger.Result{Sequence: number(1), Confirmed: true, Assembled: ledger.Hash{1}, Block: 12}
	write(t, s, owned(sender.Store{Results: []ledger.Result{result}}))
	want(t, "the open intents", sequences(load(t, s, "k")), []uint64{2})
	found, is, err := s.Find(t.Context(), "k", "a")
	want(t, "the result", []any{rowOf(found), found.Ended, found.Result, is, err}, []any{row(1, "a"), true, result, true, error(nil)})
}

// The intents of the node's users are listed, the newest first, open or not.
func list(t *testing.T, s sequencer.Store) {
	before := time.Now().Add(-time.Hour) // the store's clock may be another one
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(2, "b"), row(1, "a")}}), owned(sender.Store{Intents: []sender.IntentRow{row(3, "c")}}))
	write(t, s, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1), Why: "why"}}}), core.Change{Contract: "other", Sender: &sender.Store{Intents: []sender.IntentRow{row(4, "d")}}})
	listed := func(f sequencer.Filter) (keys []string, all []sequencer.Found) {
		all, err := s.List(t.Context(), "k", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			keys = append(keys, one.Key)
		}
		return keys, all
	}
	keys, all := listed(sequencer.Filter{})
	want(t, "the list", keys, []string{"c", "a", "b"})
	want(t, "what has ended", []any{all[0].Ended, all[1].Ended, all[1].Result.Why}, []any{false, true, "why"})
	want(t, "a row", rowOf(all[2]), row(2, "b"))
	if all[0].Number <= all[1].Number || all[1].Number <= all[2].Number || all[2].Number == 0 || all[2].Accepted.Before(before) {
		t.Errorf("their numbers are %d, %d and %d, and the first was accepted at %v", all[0].Number, all[1].Number, all[2].Number, all[2].Accepted)
	}
	keys, _ = listed(sequencer.Filter{Most: 2})
	want(t, "the newest two", keys, []string{"c", "a"})
	keys, _ = listed(sequencer.Filter{Before: all[1].Number})
	want(t, "those before a", keys, []string{"b"})
	keys, _ = listed(sequencer.Filter{Sequence: number(1)})
	want(t, "the one with a number", keys, []string{"a"})
	keys, _ = listed(sequencer.Filter{Sequence: number(9)})
	want(t, "one that is not there", keys, []string(nil))
}

func dispatch(owner ledger.Account, n uint64, name byte) coordinator.Row {
	in := ledger.Intent{Owner: owner, Sequence: number(n)}
	return coordinator.Row{Dispatch: wire.Dispatch{
		Whole: whole(in, name), Endorsements: []ledger.Endorsement{{Member: 1, Signature: []byte{1}}, {Member: 2, Signature: []byte{2}}},
		Grant: ledger.Grant{Assembled: ledger.Hash{name}, Coordinator: "me", Delegation: ledger.Hash{5}, ValidUntil: 30, Signature: []byte{3}},
	}}
}

// P38, P40: dispatches come back in their order, with what was noted, until they are over.
func rows(t *testing.T, s sequencer.Store) {
	one, two, three := dispatch("x", 1, 1), dispatch("y", 1, 2), dispatch("x", 2, 3)
	write(t, s, core.Change{Contract: "k", Rows: []coordinator.Row{two, one}}, core.Change{Contract: "k", Rows: []coordinator.Row{three}})
	want(t, "the rows", load(t, s, "k").Rows, []coordinator.Row{two, one, three})
	write(t, s, core.Change{Contract: "k", Noted: []ledger.Intent{one.Attempt.Intent}, Over: []ledger.Intent{two.Attempt.Intent}})
	one.Noted = true
	want(t, "after the note", load(t, s, "k").Rows, []coordinator.Row{one, three})
	other := dispatch("x", 1, 9) // a second attempt of the intent, after the first is over
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{one.Attempt.Intent}}, core.Change{Contract: "k", Rows: []coordinator.Row{other}})
	want(t, "after another attempt", load(t, s, "k").Rows, []coordinator.Row{three, other})
}

// The book's changes add up to its snapshot.
func books(t *testing.T, s sequencer.Store) {
	state := func(name byte) domain.State {
		return domain.State{ID: ledger.StateID{name}, Creator: ledger.Intent{Owner: "x", Sequence: number(1)}, Assembled: ledger.Hash{name}, Secret: domain.Secret{Data: []byte{name}}}
	}
	lack := func(name byte, block uint64) book.Missing {
		return book.Missing{Intent: ledger.Intent{Owner: "x", Sequence: number(uint64(name))}, Assembled: ledger.Hash{name}, Number: block}
	}
	write(t, s,
		core.Change{Contract: "k", Book: &book.Change{Number: 5, Added: []domain.State{state(1), state(2)}, Missing: []book.Missing{lack(8, 5), lack(9, 4)}, Early: []ledger.StateID{{7}}}},
		core.Change{Contract: "k", Book: &book.Change{Number: 6, Added: []domain.State{state(3)}, Removed: []ledger.StateID{{1}}, Heard: []ledger.Hash{{8}}, Early: []ledger.StateID{{6}}, Late: []ledger.StateID{{7}}}})
	want(t, "the snapshot", load(t, s, "k").Book, book.Snapshot{
		Number: 6, States: []domain.State{state(2), state(3)}, Missing: []book.Missing{lack(9, 4)}, Early: []ledger.StateID{{6}},
	})
}

// The contents of what was granted, dispatched or has landed can be read for members that lack them, also when all else is
// over.
func contents(t *testing.T, s sequencer.Store) {
	landed := whole(ledger.Intent{Owner: "z", Sequence: number(1)}, 30)
	d := dispatch("y", 1, 20)
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	write(t, s, owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1)}}), core.Change{Contract: "k", Rows: []coordinator.Row{d}},
		core.Change{Contract: "k", Book: &book.Change{Number: 1, Landed: []book.Landed{{Assembled: ledger.Hash{30}, Whole: landed}}}})
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{d.Attempt.Intent}}, owned(sender.Store{Results: []ledger.Result{{Sequence: number(1)}}}))
	got, err := s.Attempts(t.Context(), "k", []ledger.Hash{{30}, {99}, {10}, {20}})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[byte]wire.Whole{}
	for _, w := range got {
		byName[w.Attempt.Data[0]] = w
	}
	want(t, "the contents", byName, map[byte]wire.Whole{10: grant(1, 10, 1).Whole, 20: d.Whole, 30: landed})
}

// P38: what was written and not answered is written again, and changes nothing.
func again(t *testing.T, s sequencer.Store) {
	changes := []core.Change{
		owned(sender.Store{Intents: []sender.IntentRow{row(1, "a"), row(2, "b")}}),
		owned(sender.Store{Grants: []sender.GrantRow{grant(1, 10, 1)}, Marks: []sender.Mark{{Sequence: number(1), Failures: 1}}}),
		{Contract: "k", Rows: []coordinator.Row{dispatch("x", 1, 1), dispatch("x", 2, 2)}},
		{Contract: "k", Noted: []ledger.Intent{{Owner: "x", Sequence: number(1)}}, Book: &book.Change{Number: 3, Early: []ledger.StateID{{1}}}},
	}
	if twice := write(t, s, changes...); len(twice) > 0 {
		t.Errorf("the first time %v have no row", twice)
	}
	once := load(t, s, "k")
	if twice := write(t, s, changes...); len(twice) > 0 {
		t.Errorf("the second time %v have no row", twice)
	}
	want(t, "after the second time", load(t, s, "k"), once)
}

// Contracts are apart.
func apart(t *testing.T, s sequencer.Store) {
	write(t, s, owned(sender.Store{Intents: []sender.IntentRow{row(1, "a")}}))
	other := owned(sender.Store{Intents: []sender.IntentRow{row(2, "a")}})
	other.Contract = "other"
	want(t, "the same key in another contract", write(t, s, other), []core.Twice(nil))
	want(t, "its intents", sequences(load(t, s, "other")), []uint64{2})
	want(t, "an unknown contract", load(t, s, "third"), core.Stored{})
}
