package sequencer

import (
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// counting counts verifications, and takes every signature for good.
type counting struct {
	ledger.Plain
	verified *atomic.Int64
}

func (c counting) Verify(ledger.Account, ledger.Hash, []byte) bool { c.verified.Add(1); return true }

// Q3: an endorsement that is taken was verified, and one that was not verified is none. It costs nothing where it is not
// needed: all members endorse, though fewer have to.
func TestEndorsementsThatAreNotNeededAreNotVerified(t *testing.T) {
	t.Parallel()
	var verified atomic.Int64
	set := &Contract{Scheme: counting{verified: &verified}, Declared: ledger.Contract{
		Address: "k", Members: []ledger.Account{"A", "B"}, Committee: []ledger.Account{"A"}, Needed: 1, Range: 10, Domain: "d",
	}}
	committee, err := set.Declared.Ranking()
	if err != nil {
		t.Fatal(err)
	}
	idle := coordinator.New(coordinator.Config{Self: "A", Contract: &set.Declared, Committee: &committee, Incarnation: wire.Incarnation{1}}) // it has asked nobody
	for _, c := range []struct {
		what  string
		place *place
		want  int64
		why   wire.Why
	}{
		{"the contract sleeps, and has asked before it did", &place{set: set}, 1, wire.Done},
		{"the coordinator waits for none", &place{set: set, open: &contract{coordinator: idle}}, 0, wire.Refused},
		{"the node does not coordinate", &place{set: set, open: &contract{}}, 0, wire.Refused},
	} {
		verified.Store(0)
		n := &Node{}
		body := wire.Endorsed{Verdicts: []wire.Verdict{{Assembled: ledger.Hash{7}, Signature: []byte("s")}, {Why: wire.Conflict}}}
		var got wire.Endorsed
		n.verify(c.place, "B", wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{1}, Number: 1}, Body: body}, func(b wire.Body, _ bool) { got, _ = b.(wire.Endorsed) })
		n.group.Wait()
		if many := verified.Load(); many != c.want || got.Verdicts[0].Why != c.why || got.Verdicts[1].Why != wire.Conflict {
			t.Errorf("%s: %d were verified, and it is %+v; want %d and %v", c.what, many, got.Verdicts, c.want, c.why)
		}
	}
}

// A grant that nobody has asked for costs nothing, and can be used by nobody: it is returned by its delegation, unless its
// attempt is the one that is here.
func TestGrantsThatAreNotNeededAreNotVerified(t *testing.T) {
	t.Parallel()
	var verified atomic.Int64
	set := &Contract{Scheme: counting{verified: &verified}, Declared: ledger.Contract{Address: "k", Members: []ledger.Account{"A", "B"}, Committee: []ledger.Account{"A"}, Needed: 1, Range: 10, Domain: "d"}}
	committee, err := set.Declared.Ranking()
	if err != nil {
		t.Fatal(err)
	}
	idle := coordinator.New(coordinator.Config{Self: "A", Contract: &set.Declared, Committee: &committee, Incarnation: wire.Incarnation{1}})
	n, body := &Node{}, wire.Granted{}
	given := ledger.Grant{Assembled: ledger.Hash{7}, Coordinator: "A", Delegation: ledger.Hash{8}, Signature: []byte("s")}
	for range 1000 {
		body.Items = append(body.Items, wire.GrantResult{Grant: given})
	}
	var got wire.Granted
	n.verify(&place{set: set, open: &contract{coordinator: idle}}, "B", request(1, body), func(b wire.Body, _ bool) { got, _ = b.(wire.Granted) })
	n.group.Wait()
	one := got.Items[999].Grant
	if many := verified.Load(); many != 0 || one.Coordinator != "" || one.Assembled != given.Assembled || one.Delegation != given.Delegation {
		t.Errorf("%d were verified, and one is %+v", many, one)
	}
}
