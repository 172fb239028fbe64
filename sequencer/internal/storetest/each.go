package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Accept stores an intent, as a node does before its user hears of it.
func Accept(ctx context.Context, s sequencer.Store, key string, payload []byte) error {
	row := sender.IntentRow{Sequence: ledger.Sequence{Lineage: 9}, Key: key, Payload: payload}
	_, err := s.Write(ctx, []core.Change{owned(sender.Store{Intents: []sender.IntentRow{row}})})
	return err
}

// Each does everything that a store can do once, in two writes, and returns an error if something is not as it should be
// then. What is left is open: an intent and a dispatch. A second time it changes nothing.
func Each(ctx context.Context, s sequencer.Store) error {
	one, two, given := dispatch("x", 1, 1), dispatch("y", 2, 2), grant(1, 10, 1)
	in := ledger.Intent{Owner: "x", Sequence: number(1)}
	if _, err := s.Write(ctx, []core.Change{
		owned(sender.Store{
			Intents: []sender.IntentRow{row(1, "a"), row(2, "b")},
			Grants:  []sender.GrantRow{given},
			Marks:   []sender.Mark{{Sequence: number(1), Failures: 1, GivenUp: "late", Dispatched: ledger.Hash{10}}},
			Results: []ledger.Result{{Sequence: number(2), Confirmed: true, Block: 7}},
		}),
		{Contract: "k", Rows: []coordinator.Row{one, two}},
		{Contract: "k", Book: &book.Change{
			Number: 5, Added: []domain.State{{ID: ledger.StateID{1}}, {ID: ledger.StateID{2}}},
			Missing: []book.Missing{{Intent: in, Assembled: ledger.Hash{8}}, {Intent: in, Assembled: ledger.Hash{9}}}, Early: []ledger.StateID{{7}, {6}},
			Landed: []book.Landed{{Assembled: ledger.Hash{30}, Whole: whole(in, 30)}},
		}},
	}); err != nil {
		return err
	}
	if _, err := s.Write(ctx, []core.Change{{
		Contract: "k", Noted: []ledger.Intent{one.Attempt.Intent}, Over: []ledger.Intent{two.Attempt.Intent},
		Book: &book.Change{Number: 6, Removed: []ledger.StateID{{1}}, Heard: []ledger.Hash{{8}}, Late: []ledger.StateID{{7}}},
	}}); err != nil {
		return err
	}
	if n, err := s.Trim(ctx, map[string]time.Duration{"k": time.Hour}, 10); err != nil || n != (sequencer.Trimmed{}) {
		return fmt.Errorf("%+v are forgotten within the hour: %w", n, err)
	}
	got, err := s.Load(ctx, "k")
	if err != nil {
		return err
	}
	if len(got.Intents) != 1 || len(got.Intents[0].Grants) != 1 || len(got.Rows) != 1 || !got.Rows[0].Noted ||
		got.Book.Number != 6 || len(got.Book.States) != 1 || len(got.Book.Missing) != 1 || len(got.Book.Early) != 1 {
		return fmt.Errorf("%+v was loaded, instead of one of each", got)
	}
	if f, is, err := s.Find(ctx, "k", "b"); err != nil || !is || !f.Ended {
		return fmt.Errorf("found %+v, %v, instead of a result: %w", f, is, err)
	}
	for f, want := range map[sequencer.Filter]int{{}: 2, {Sequence: number(1)}: 1, {Before: 1}: 0} {
		if all, err := s.List(ctx, "k", f); err != nil || len(all) != want {
			return fmt.Errorf("%d intents are listed by %+v, instead of %d: %w", len(all), f, want, err)
		}
	}
	if all, err := s.Attempts(ctx, "k", []ledger.Hash{{1}, {10}, {30}, {40}}); err != nil || len(all) != 3 {
		return fmt.Errorf("%d attempts are there, instead of 3: %w", len(all), err)
	}
	return nil
}
