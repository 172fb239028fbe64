package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// labelled is a domain whose states have one label.
type labelled struct{ domain.Rules }

func (labelled) Label([]byte) string { return "note" }

func declared(members ...ledger.Account) ledger.Contract {
	return ledger.Contract{
		Chain: 1, Address: "k", Members: members, Committee: members[:1], Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
	}
}

// desk is a core with one contract that is awake, and what it has asked for.
type desk struct {
	*contract

	t *testing.T
}

func newCore(self ledger.Account, of ledger.Contract) *Core {
	return New(Config{
		Self: self, Secret: [32]byte{1}, SleepAfter: time.Hour, ShareFor: time.Second, Coordinates: wire.Incarnation{1}, Owns: wire.Incarnation{15: 2}, Fetches: wire.Incarnation{3},
		Contracts: []Contract{{Declared: of, Rules: labelled{}, Scheme: model.Fake{}}},
	})
}

func newDesk(t *testing.T, self ledger.Account, of ledger.Contract) *desk {
	t.Helper()
	c := newCore(self, of)
	opened, err := c.Open(of.Address, Read{Lineage: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(0, opened)
	c.out = Output{}
	return &desk{opened.contract, t}
}

// step feeds an input. Its acts come after those that were not taken yet.
func (d *desk) step(in Input) {
	before := d.core.out.Acts
	out := d.core.Step(d.core.now, in)
	d.core.out = Output{Acts: slices.Concat(before, out.Acts)}
}

// next takes the first act of a type out of what is to be done, and returns false if there is none.
func next[A Act](d *desk) (a A, is bool) {
	for i, one := range d.core.out.Acts {
		if a, is = one.(A); is {
			d.core.out.Acts = slices.Delete(slices.Clone(d.core.out.Acts), i, i+1)
			return a, true
		}
	}
	return a, false
}

// must is next where there is one.
func must[A Act](d *desk) A {
	d.t.Helper()
	a, is := next[A](d)
	if !is {
		d.t.Fatalf("there is no %T in %+v", a, d.core.out.Acts)
	}
	return a
}

// lines returns how many lines for the log have a text.
func (d *desk) lines(text string) (n int) {
	for _, a := range d.core.out.Acts {
		if s, is := a.(Say); is && strings.Contains(s.Text, text) {
			n++
		}
	}
	return n
}

// A member is heard with its height also while its contract sleeps here, and what it says without a height takes none away.
func TestAHeightIsKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "north"))
	for _, final := range []uint64{0, 9, 0} {
		d.place.noteHeight("north", final, time.Second)
	}
	if h := d.core.Look("k", time.Unix(9, 0)).Members[0]; h.Final != 9 || h.At.IsZero() {
		t.Errorf("got %+v, want the height 9", h)
	}
}

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

// An answer that nobody waits for is named in the log, and nothing else comes of it.
func TestASecondAnswerIsDropped(t *testing.T) {
	t.Parallel()
	for what, in := range map[string]Input{"an answer": Answered{ID: 99}, "a write": Written{IDs: []uint64{99}}} {
		d := newDesk(t, "alice", declared("alice"))
		if d.step(in); d.lines("answered twice") != 1 || len(d.core.out.Acts) != 1 {
			t.Errorf("%s comes twice, and this is done: %+v", what, d.core.out.Acts)
		}
	}
}
