package core

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q3: an endorsement that is taken was verified, and one that was not verified is none. It costs nothing where it is not
// needed: all members endorse, though fewer have to.
func TestEndorsementsThatAreNotNeededAreNotVerified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		self   ledger.Account
		asleep bool
		want   int
		why    wire.Why
	}{
		{"the contract sleeps, and has asked before it did", "A", true, 1, wire.Done},
		{"the coordinator waits for none", "A", false, 0, wire.Refused},
		{"the node does not coordinate", "B", false, 0, wire.Refused},
	} {
		d := newDesk(t, c.self, declared("A", "B"))
		if c.asleep {
			d.place.open = nil
		}
		body := wire.Endorsed{Verdicts: []wire.Verdict{{Assembled: ledger.Hash{7}, Signature: []byte("s")}, {Why: wire.Conflict}}}
		d.step(Arrived{From: "B", Message: request(body)})
		v := must[Verify](d)
		got, _ := v.Message.Body.(wire.Endorsed)
		if len(v.Needed) != c.want || got.Verdicts[0].Why != c.why || got.Verdicts[1].Why != wire.Conflict {
			t.Errorf("%s: %v are to be verified, and it is %+v; want %d and %v", c.what, v.Needed, got.Verdicts, c.want, c.why)
		}
	}
}

func request(body wire.Body) wire.Message {
	return wire.Message{Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{1}, Number: 1}, Body: body}
}

// A grant that nobody has asked for costs nothing, and can be used by nobody: it is returned by its delegation, unless its
// attempt is the one that is here.
func TestGrantsThatAreNotNeededAreNotVerified(t *testing.T) {
	t.Parallel()
	d, body := newDesk(t, "A", declared("A", "B")), wire.Granted{}
	given := ledger.Grant{Assembled: ledger.Hash{7}, Coordinator: "A", Delegation: ledger.Hash{8}, Signature: []byte("s")}
	for range 1000 {
		body.Items = append(body.Items, wire.GrantResult{Grant: given})
	}
	d.step(Arrived{From: "B", Message: request(body)})
	v := must[Verify](d)
	got, _ := v.Message.Body.(wire.Granted)
	one := got.Items[999].Grant
	if len(v.Needed) != 0 || one.Coordinator != "" || one.Assembled != given.Assembled || one.Delegation != given.Delegation {
		t.Errorf("%d are to be verified, and one is %+v", len(v.Needed), one)
	}
}
