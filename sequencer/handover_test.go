package sequencer

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

// fakeCounting counts verifications of signatures that everybody can make.
type fakeCounting struct {
	model.Fake

	verified *atomic.Int64
}

func (c fakeCounting) Verify(a ledger.Account, h ledger.Hash, signature []byte) bool {
	c.verified.Add(1)
	return c.Fake.Verify(a, h, signature)
}

// heir is a node, A, that has just begun to coordinate, and has asked B for a handover.
type heir struct {
	n        *Node
	p        *place
	made     *core.Core
	asked    wire.RequestID
	verified atomic.Int64
}

func newHeir(t *testing.T) *heir {
	t.Helper()
	h := &heir{n: &Node{ctx: t.Context(), cfg: Config{Log: slog.New(slog.DiscardHandler)}}}
	set := &Contract{Scheme: fakeCounting{verified: &h.verified}, Declared: ledger.Contract{
		Address: "k", Members: []ledger.Account{"A", "B", "C"}, Committee: []ledger.Account{"A", "B"}, Needed: 2, Range: 10, Depth: 2, Life: 20, Domain: "d",
	}}
	h.p = &place{set: set}
	h.made = core.New(core.Config{
		Self: "A", Secret: [32]byte{1}, Coordinates: wire.Incarnation{1}, Owns: wire.Incarnation{15: 2},
		Contracts: []core.Contract{{Declared: set.Declared, Scheme: set.Scheme, Rules: notes.New("A")}},
	})
	opened, err := h.made.Open("k", core.Read{Lineage: 1, Head: 12, Stored: core.Stored{Book: book.Snapshot{Number: 12}}})
	if err != nil {
		t.Fatal(err)
	}
	h.made.Step(0, opened)
	out := h.made.Step(0, core.Received{From: "A", Message: request(1, wire.Delegate{Range: 1, Intents: []wire.Offer{{}}})})
	for _, a := range out.Acts {
		if s, is := a.(core.Send); is && s.Message.Body.Kind() == wire.KindAskHandover {
			h.asked = s.Message.Request
		}
	}
	return h
}

func request(number uint64, body wire.Body) wire.Message {
	return wire.Message{Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{1}, Number: number}, Body: body}
}

// proven returns what a node finds proven of a handover of B's, and how many signatures it has looked at.
func (h *heir) proven(of wire.RequestID, entries []wire.Dispatch) (left []wire.Dispatch, verified int64) {
	h.verified.Store(0)
	for _, a := range h.made.Step(0, core.Arrived{From: "B", Message: wire.Message{Contract: "k", Request: of, Body: wire.Handover{Entries: entries}}}).Acts {
		if prove, is := a.(core.Prove); is {
			h.n.prove(h.p, prove, func(in core.Proven) { left = in.Message.Body.(wire.Handover).Entries }) //nolint:forcetypeassert // it is one
		}
	}
	h.n.group.Wait()
	return left, h.verified.Load()
}

// entries returns what B has dispatched of C's intents.
func (h *heir) entries(many int) (all []wire.Dispatch) {
	scheme, declared := h.p.set.Scheme, h.p.set.Declared
	for i := range many {
		e := wire.Dispatch{Whole: wire.Whole{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "C", Sequence: ledger.Sequence{Counter: uint64(i)}}, Data: fmt.Append(nil, i)}}}
		e.Grant = ledger.Grant{Assembled: scheme.Assembled(declared, e.Attempt), Coordinator: "B", ValidUntil: 30}
		h.sign(&e, "C", "A", "B")
		all = append(all, e)
	}
	return all
}

// sign has an owner grant an entry, and members endorse it.
func (h *heir) sign(e *wire.Dispatch, owner ledger.Account, members ...ledger.Account) {
	var fake model.Fake
	e.Grant.Signature, e.Endorsements = fake.Sign(owner, fake.Granted(h.p.set.Declared, e.Grant)), nil
	for _, a := range members {
		at := slices.Index(h.p.set.Declared.Members, a)
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: at, Signature: fake.Sign(a, e.Grant.Assembled)})
	}
}

// Q3, P17: what a member hands over was granted to it by its owner, and endorsed: else all that it hands over is nothing. What
// cannot count, or is no honest form, is left out before anything is verified.
func TestAHandoverIsProven(t *testing.T) {
	t.Parallel()
	const many, each = 40, 3
	for what, c := range map[string]struct {
		spoil    func(h *heir, e *wire.Dispatch)
		left     int
		verified int64 // if all that is left is right
	}{
		"nothing is wrong":                {func(*heir, *wire.Dispatch) {}, many, many * each},
		"its grant is signed by another":  {func(h *heir, e *wire.Dispatch) { h.sign(e, "B", "A", "B") }, 0, 0},
		"another attempt was granted":     {func(_ *heir, e *wire.Dispatch) { e.Attempt.Data = []byte("another") }, 0, 0},
		"its last block is another":       {func(_ *heir, e *wire.Dispatch) { e.Grant.ValidUntil++ }, 0, 0},
		"an endorsement is made up":       {func(_ *heir, e *wire.Dispatch) { e.Endorsements[1].Signature = []byte("s") }, 0, 0},
		"an endorsement is of another":    {func(h *heir, e *wire.Dispatch) { h.sign(e, "C", "A", "B"); e.Endorsements[1].Member = 2 }, 0, 0},
		"one member has endorsed twice":   {func(h *heir, e *wire.Dispatch) { h.sign(e, "C", "A", "A") }, 0, 0},
		"nobody has that place":           {func(_ *heir, e *wire.Dispatch) { e.Endorsements[1].Member = 3 }, 0, 0},
		"its owner is no member":          {func(h *heir, e *wire.Dispatch) { e.Attempt.Owner = "D"; h.sign(e, "D", "A", "B") }, many - 1, (many - 1) * each},
		"it was granted to another":       {func(h *heir, e *wire.Dispatch) { e.Grant.Coordinator = "A"; h.sign(e, "C", "A", "B") }, many - 1, (many - 1) * each},
		"its grant is over":               {func(h *heir, e *wire.Dispatch) { e.Grant.ValidUntil = 10; h.sign(e, "C", "A", "B") }, many - 1, (many - 1) * each},
		"it has fewer than are needed":    {func(h *heir, e *wire.Dispatch) { h.sign(e, "C", "A") }, many - 1, (many - 1) * each},
		"it has more than are to be read": {func(h *heir, e *wire.Dispatch) { h.sign(e, "C", "A", "B", "C") }, many - 1, (many - 1) * each},
	} {
		h := newHeir(t)
		entries := h.entries(many)
		c.spoil(h, &entries[many/2])
		left, verified := h.proven(h.asked, entries)
		if len(left) != c.left || c.left > 0 && verified != c.verified {
			t.Errorf("%s: %d are left, and %d signatures were verified; want %d and %d", what, len(left), verified, c.left, c.verified)
		}
	}
}

// Nobody has a node verify what it has not asked for, or so much that others wait.
func TestAHandoverCostsLittle(t *testing.T) {
	t.Parallel()
	if left, verified := newHeir(t).proven(wire.RequestID{Incarnation: wire.Incarnation{1}, Number: 99}, newHeir(t).entries(10)); len(left)+int(verified) != 0 {
		t.Errorf("what was not asked for: %d are left, %d were verified", len(left), verified)
	}
	h := newHeir(t)
	if left, verified := h.proven(h.asked, h.entries(2100)); len(left) != 2000 || verified != 6000 {
		t.Errorf("of very many %d are left, %d were verified", len(left), verified)
	}
	if left, verified := h.proven(h.asked, h.entries(10)); len(left)+int(verified) != 0 {
		t.Errorf("while another one is proven: %d are left, %d were verified", len(left), verified)
	}
	h = newHeir(t)
	h.made = core.New(core.Config{Self: "A", Contracts: []core.Contract{{Declared: h.p.set.Declared, Scheme: h.p.set.Scheme, Rules: notes.New("A")}}})
	if left, verified := h.proven(h.asked, h.entries(10)); len(left)+int(verified) != 0 {
		t.Errorf("while the contract sleeps: %d are left, %d were verified", len(left), verified)
	}
}
