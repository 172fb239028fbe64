package sender

import (
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// shares steps a machine and returns for which attempts it asks, and whether it stores a result.
func shares(m *Machine, in Input) (asked []ledger.Hash, result bool) {
	for _, a := range m.Step(0, in) {
		switch a := a.(type) {
		case Share:
			asked = append(asked, a.Assembled)
		case Store:
			result = result || len(a.Results) > 0
		}
	}
	return asked, result
}

// Q14: what a reorganisation has put in another attempt's place is waited for, and a late word about the one before counts for
// nothing. What another node has coordinated is waited for by nobody.
func TestTheAttemptThatCountsIsShared(t *testing.T) {
	t.Parallel()
	contract := testContract()
	one, two, other := ledger.Hash{1}, ledger.Hash{2}, ledger.Hash{3}
	at := func(number uint64, s ledger.Sequence, payload string, landed ledger.Hash) ledger.Block {
		f := ledger.Fact{Intent: ledger.Intent{Owner: self, Sequence: s}, Payload: domain.PayloadHash([]byte(payload)), Assembled: landed}
		return ledger.Block{Number: number, Facts: []ledger.Fact{f}}
	}
	begin := func() *Machine {
		c := testConfig(t, &contract)
		c.Share = true
		load := func(counter uint64, payload string, given ...GrantRow) Loaded {
			return Loaded{IntentRow: IntentRow{Sequence: ledger.Sequence{Lineage: 3, Counter: counter}, Key: payload, Payload: []byte(payload)}, Grants: given}
		}
		grant := func(h ledger.Hash, to ledger.Account) GrantRow {
			return GrantRow{Given: grants.Given{Assembled: h, ValidUntil: 1000}, To: to, Grant: ledger.Grant{Assembled: h}}
		}
		c.Load = Load{Final: 5, Head: 5, Intents: []Loaded{load(1, "make x", grant(one, self), grant(two, self)), load(2, "make y", grant(other, "b"))}}
		m := New(c)
		m.Step(0, Tick{})
		return m
	}
	mine, theirs := ledger.Sequence{Lineage: 3, Counter: 1}, ledger.Sequence{Lineage: 3, Counter: 2}
	finish := func(m *Machine, from uint64) (result bool) {
		for n := from; n < from+contract.Depth; n++ {
			_, is := shares(m, ledger.Block{Number: n})
			result = result || is
		}
		return result
	}
	m := begin()
	if asked, _ := shares(m, at(6, theirs, "make y", other)); len(asked) > 0 || !finish(m, 7) {
		t.Errorf("what another has coordinated is offered: %v", asked)
	}
	for name, order := range map[string][]ledger.Hash{"the late word comes first": {one, two}, "the late word comes last": {two, one}} {
		m := begin()
		if asked, _ := shares(m, at(6, mine, "make x", one)); len(asked) != 1 || asked[0] != one {
			t.Fatalf("%s: asked for %v, want the first", name, asked)
		}
		m.Step(0, ledger.Rewind{To: 5})
		if asked, _ := shares(m, at(6, mine, "make x", two)); len(asked) != 1 || asked[0] != two {
			t.Fatalf("%s: asked for %v, want the second", name, asked)
		}
		shares(m, Shared{Sequence: mine, Assembled: order[0]})
		early := finish(m, 7)
		_, late := shares(m, Shared{Sequence: mine, Assembled: order[1]})
		if first := order[0] == two; early != first || late == first {
			t.Errorf("%s: told before the second word: %v, after it: %v", name, early, late)
		}
	}
	m = begin()
	shares(m, at(6, mine, "make x", one))
	m.Step(0, ledger.Rewind{To: 5})
	shares(m, at(6, mine, "make x", two))
	shares(m, Shared{Sequence: mine, Assembled: two})
	shares(m, Shared{Sequence: mine, Assembled: one})
	if !finish(m, 7) {
		t.Error("both words have come before it is final, and it is not told")
	}
}
