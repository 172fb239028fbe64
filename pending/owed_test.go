package pending

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// W19: what the account's transactions that are in no block may cost is not for the next one: of each nonce the
// dearest attempt, since a node may have any.
func TestWhatIsOwed(t *testing.T) {
	t.Parallel()
	attempt := func(price int64, gas uint64, filler bool) chain.Signed {
		return chain.Signed{Fee: chain.Fee{Max: big.NewInt(price)}, Gas: gas, Filler: filler}
	}
	five := big.NewInt(5)
	for name, c := range map[string]struct {
		slots []slot
		best  uint64
		want  int64
	}{
		"nothing":              {nil, 0, 0},
		"one":                  {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false)}}}}, 0, 25},
		"two":                  {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false)}}}, {Slot: Slot{Index: 1, Attempts: []chain.Signed{attempt(1, 1, false)}}}}, 0, 26},
		"a dearer one":         {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false), attempt(3, 10, false)}}}}, 0, 35},
		"a cheaper filler":     {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false), attempt(3, 1, true)}}}}, 0, 25},
		"a dearer filler":      {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false), attempt(30, 1, true)}}}}, 0, 30},
		"one in a block":       {[]slot{{in: &chain.Inclusion{}, Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false)}}}}, 0, 0},
		"one below the count":  {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{attempt(2, 10, false)}}}}, 1, 0},
		"a chain without caps": {[]slot{{Slot: Slot{Value: five, Attempts: []chain.Signed{{Gas: 3}}}}}, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
			for i := range c.slots {
				m.slots.addSlot(&c.slots[i])
			}
			m.best, m.next, m.signing.queued = c.best, 2, 1
			if m.signing.askAttempts(0); len(m.out) != 1 {
				t.Fatalf("got %v, want an assign", m.out)
			}
			got := m.out[0].(assign) //nolint:forcetypeassert // it would fail the test
			if got.Owed.Cmp(big.NewInt(c.want)) != 0 {
				t.Errorf("%v is owed, want %d", got.Owed, c.want)
			}
			if got.Best != c.best { // what is in no block yet may be why a call is refused (W12)
				t.Errorf("as of the nonce %d, want %d", got.Best, c.best)
			}
			for i := range c.slots { // one more attempt counts too
				s := &c.slots[i]
				s.Attempts = append(s.Attempts, attempt(1000, 1, true))
				if got, want := s.mostCost(), big.NewInt(1000); got.Cmp(want) != 0 {
					t.Errorf("after a dear filler it may cost %v, want %v", got, want)
				}
			}
		})
	}
}

// W19: the chain is told what is owed, and is asked nothing if nothing waits. What was not read of the queue is left.
func TestWhatAnAssignAsks(t *testing.T) {
	t.Parallel()
	store, asked := &Memory{}, &asked{}
	l := &loop{
		Config: Config{Account: "a", Chain: asked, Store: store, Longest: time.Minute, Sequence: new(Sequence)},
		gate:   fence.Standalone("s", "h"), mostFee: limitOf(chain.Fee{}),
	}
	l.headed.Store(1)
	for _, waiting := range []int{0, 3} {
		for range waiting {
			if _, err := store.Accept(t.Context(), Intent{Account: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		in, err := l.perform(t.Context(), assign{Most: 2, Owed: big.NewInt(7)})
		got, is := in.(stored)
		if err != nil || !is || len(got.Slots) != min(waiting, 2) || got.Left != max(0, waiting-2) {
			t.Errorf("of %d: got %+v, error %v; want two at most, and the others left", waiting, in, err)
		}
	}
	if asked.times != 1 || len(asked.drafts) != 2 || asked.drafts[0].Owed.Int64() != 7 || asked.drafts[1].Owed.Int64() != 7 {
		t.Errorf("asked %d times, for %+v; want once for two, of which each is told that 7 is owed", asked.times, asked.drafts)
	}
}

// What the alarm says of those that others pass.
func TestTheWordsOfWhatIsPutOff(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{})
	m.notePutOff(Waits{Poor: 3, Unclear: 2})
	var whys []string
	for _, a := range m.out {
		whys = append(whys, a.(Alarm).Why) //nolint:forcetypeassert // it would fail the test
	}
	want := []string{"3 waiting transactions, which others pass", "2 waiting transactions, which others pass"}
	if !slices.Equal(whys, want) {
		t.Errorf("alarms %q, want %q", whys, want)
	}
}
