package pending

import (
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
)

// W19: what the account's transactions that are in no block may cost is not for the next one: of each nonce the
// dearest attempt, since a node may have any.
func TestWhatIsOwed(t *testing.T) {
	t.Parallel()
	attempt := func(price int64, gas uint64, filler bool) Attempt {
		return Attempt{Filler: filler, Signed: chain.Signed{Fee: chain.Fee{Max: big.NewInt(price)}, Gas: gas}}
	}
	five := big.NewInt(5)
	for name, c := range map[string]struct {
		slots []slot
		best  uint64
		want  int64
	}{
		"nothing":              {nil, 0, 0},
		"one":                  {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false)}}}}, 0, 25},
		"two":                  {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false)}}}, {Slot: Slot{Index: 1, Attempts: []Attempt{attempt(1, 1, false)}}}}, 0, 26},
		"a dearer one":         {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false), attempt(3, 10, false)}}}}, 0, 35},
		"a cheaper filler":     {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false), attempt(3, 1, true)}}}}, 0, 25},
		"a dearer filler":      {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false), attempt(30, 1, true)}}}}, 0, 30},
		"one in a block":       {[]slot{{in: &inclusion{}, Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false)}}}}, 0, 0},
		"one below the count":  {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{attempt(2, 10, false)}}}}, 1, 0},
		"a chain without caps": {[]slot{{Slot: Slot{Value: five, Attempts: []Attempt{{Signed: chain.Signed{Gas: 3}}}}}}, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
			for i := range c.slots {
				m.slots.add(&c.slots[i])
			}
			m.best, m.next, m.queued = c.best, 2, 1
			if m.sign(0); len(m.out) != 1 {
				t.Fatalf("got %v, want an assign", m.out)
			}
			if got := m.out[0].(assign).Owed; got.Cmp(big.NewInt(c.want)) != 0 { //nolint:forcetypeassert // it would fail the test
				t.Errorf("%v is owed, want %d", got, c.want)
			}
		})
	}
}
