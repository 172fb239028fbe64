package pending

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/step"
)

// prober answers for one transaction, once it has failed for a while.
type prober struct {
	chain.Chain
	fails int
	hash  chain.Hash
	place chain.Sighting
}

func (p *prober) Probe(_ context.Context, hashes []chain.Hash) (all []chain.Sighting, err error) {
	if p.fails--; p.fails >= 0 {
		return nil, chain.ErrUnreachable
	}
	for _, h := range hashes {
		one := chain.Sighting{}
		if h == p.hash {
			one = p.place
		}
		all = append(all, one)
	}
	return all, nil
}

// oneRow is a store that has one row, of the nonce 7.
type oneRow struct {
	*Memory
	Slot
}

func (s oneRow) Slots(_ context.Context, _ chain.Account, first, last uint64) ([]Slot, error) {
	if first != 7 || last != 7 {
		return nil, nil
	}
	return []Slot{s.Slot}, nil
}

// What was stored as final, and is in another block now, is read again, with as many rows below it as were read already. What is where
// it was, what no endpoint finds, and what was not final says nothing; an endpoint that does not answer is asked again.
func TestFinalRowsAreLookedUp(t *testing.T) {
	t.Parallel()
	here, there := chain.Block{Number: 5, Hash: "5"}, chain.Block{Number: 6, Hash: "6'"}
	row := Slot{Index: 7, Final: true, Attempts: []chain.Signed{{Hash: "a"}, {Hash: "b"}}}
	row.Last.Hash, row.Last.Block = "b", here
	open := row
	open.Final = false
	for name, c := range map[string]struct {
		row   Slot
		seen  prober
		final int // rows that were read as final
		from  uint64
		moved bool
	}{
		"in another block":         {row: row, seen: prober{hash: "b", place: chain.Sighting{Block: there}}, from: 7, moved: true},
		"after three final ones":   {row: row, seen: prober{hash: "b", place: chain.Sighting{Block: there}}, final: 3, from: 5, moved: true},
		"after nine final ones":    {row: row, seen: prober{hash: "b", place: chain.Sighting{Block: there}}, final: 9, from: 0, moved: true},
		"another attempt":          {row: row, seen: prober{hash: "a", place: chain.Sighting{Block: there}}, from: 7, moved: true},
		"where it was":             {row: row, seen: prober{hash: "b", place: chain.Sighting{Block: here}}},
		"not found":                {row: row, seen: prober{}},
		"not final":                {row: open, seen: prober{hash: "b", place: chain.Sighting{Block: there}}},
		"an endpoint that is away": {row: row, seen: prober{fails: 2, hash: "b", place: chain.Sighting{Block: there}}, from: 7, moved: true},
		"one that stays away":      {row: row, seen: prober{fails: 9, hash: "b", place: chain.Sighting{Block: there}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &loop{Config: Config{Account: "a", Chain: &c.seen, Store: oneRow{&Memory{}, c.row}, Longest: time.Second, Retry: time.Second}, inbox: step.NewInbox[input]()}
				snap := Snapshot{Next: 8}
				for i := range c.final {
					snap.Slots = append(snap.Slots, Slot{Index: 8 + uint64(i), Final: true})
				}
				l.recheck(t.Context(), snap)
				var want []input
				if c.moved {
					want = []input{moved{From: c.from}}
				}
				if got := l.inbox.Take(); !slices.Equal(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		})
	}
}
