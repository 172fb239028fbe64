package core

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A step of the chain counts for the life of the contract to which it was told, and only if it follows: a later life has read on from another
// block, and what does not follow reaches no machine.
func TestAStepThatIsForNobody(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice"))
	for _, c := range []struct {
		life, number, want uint64
	}{{d.life + 1, 1, 0}, {d.life, 1, 1}, {d.life, 2, 2}, {d.life, 9, 2}, {d.life + 1, 3, 2}, {d.life, 3, 3}} {
		d.step(Followed{Contract: "k", Life: c.life, Step: ledger.Block{Number: c.number}})
		book, _ := d.Book.Height()
		if owner, _ := d.Sender.Height(); book != c.want || owner != c.want {
			t.Errorf("block %d of life %d: the book is at %d and the sender at %d, want %d", c.number, c.life, book, owner, c.want)
		}
	}
	if n := d.lines("goes on as no ledger may"); n != 1 {
		t.Errorf("%d lines say that a block does not follow", n)
	}
}

// What a user hears whose key has a row already is what that row says: never that another request is theirs.
func TestWhatASecondRowIsTold(t *testing.T) {
	t.Parallel()
	first, second := ledger.Sequence{Lineage: 1, Counter: 1}, ledger.Sequence{Lineage: 2, Counter: 1}
	row := sender.IntentRow{Sequence: second, Key: "a", Payload: []byte("p"), Deadline: 5}
	found := func(edit func(*sender.IntentRow)) Answered {
		r := row
		r.Sequence = first
		edit(&r)
		return Answered{Found: &r}
	}
	fault := errors.New("the database is away")
	for name, c := range map[string]struct {
		answer Answered
		is     ledger.Sequence
		err    error
		again  bool
	}{
		"the same request": {answer: found(func(*sender.IntentRow) {}), is: first},
		"another payload":  {answer: found(func(r *sender.IntentRow) { r.Payload = []byte("q") }), is: first, err: ErrConflict},
		"another deadline": {answer: found(func(r *sender.IntentRow) { r.Deadline = 6 }), is: first, err: ErrConflict},
		"it is forgotten":  {again: true},
		"nobody knows":     {answer: Answered{Err: fault}, err: fault},
	} {
		d := newDesk(t, "alice", declared("alice"))
		d.askers.tickets[second] = 7
		d.askers.keyIsTaken(sender.Store{Intents: []sender.IntentRow{row}}, second)
		c.answer.ID = must[Find](d).ID
		d.step(c.answer)
		again, is := next[Again](d)
		told, accepted := next[Accepted](d)
		if is != c.again || accepted == c.again || told.Sequence != c.is || !errors.Is(told.Err, c.err) {
			t.Errorf("%s: told %+v, handed in again %v %+v", name, told, is, again)
		}
	}
	d := newDesk(t, "alice", declared("alice"))
	if d.askers.noteAskers([]sender.IntentRow{row}); len(d.askers.tickets) > 0 {
		t.Error("nobody hands it in, and somebody is told of it")
	}
}

// A cancellation that cannot be signed is not handed in: the intent ends with its grants.
func TestACancellationWithoutASignature(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("the key is away")} {
		d := newDesk(t, "alice", declared("alice"))
		d.actForSender(sender.SendCancellation{Intent: ledger.Intent{Owner: "alice"}})
		d.step(Answered{ID: must[SignCancellation](d).ID, Signature: []byte("s"), Err: err})
		if _, is := next[HandIn](d); is != (err == nil) {
			t.Errorf("signed with the error %v, it is handed in %v", err, is)
		}
	}
}

// A request gets one answer, and an answer none: two nodes that both know no such contract would go on for ever.
func TestWhatIsRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of       wire.Incarnation
		number   uint64
		contract string
		body     wire.Body
		want     bool
	}{
		"a request":                           {of: wire.Incarnation{9}, number: 1, contract: "x", body: wire.AskList{}, want: true},
		"a notice":                            {of: wire.Incarnation{9}, contract: "x", body: wire.AskList{}},
		"a rejection":                         {of: wire.Incarnation{9}, number: 1, contract: "x", body: wire.Rejected{}},
		"of no contract":                      {of: wire.Incarnation{9}, number: 1, body: wire.AskList{}},
		"an answer to this coordinator":       {of: wire.Incarnation{1}, number: 1, contract: "x", body: wire.Granted{}},
		"an answer to this sender":            {of: wire.Incarnation{7, 15: 2}, number: 1, contract: "x", body: wire.Accepted{}},
		"an answer to a question for content": {of: wire.Incarnation{3}, number: 1, contract: "x", body: wire.Attempts{}},
	} {
		d := newDesk(t, "alice", declared("alice", "north"))
		d.step(Arrived{From: "north", Message: wire.Message{Contract: c.contract, Request: wire.RequestID{Incarnation: c.of, Number: c.number}, Body: c.body}})
		if _, is := next[Send](d); is != c.want {
			t.Errorf("%s: it is rejected %v", name, is)
		}
	}
}

// Only the member that was offered contents can say that it keeps them: any other word with the number of an offer is another request's.
func TestWhoseWordKeepsContents(t *testing.T) {
	t.Parallel()
	for id, kept := range map[wire.RequestID]bool{
		{Incarnation: wire.Incarnation{3}, Number: 5}: true,
		{Incarnation: wire.Incarnation{3}, Number: 6}: false,
		{Incarnation: wire.Incarnation{1}, Number: 5}: false,
		{Incarnation: wire.Incarnation{9}, Number: 5}: false,
	} {
		d := newDesk(t, "alice", declared("alice", "north"))
		d.offers.shares = []*sharing{{asks: []uint64{5}}}
		d.receiveMessage("north", wire.Message{Contract: "k", Request: id, Body: wire.Noted{}}, false)
		if (len(d.offers.shares) == 0) != kept {
			t.Errorf("a word on request %d of %x ends the offer: %v", id.Number, id.Incarnation[0], len(d.offers.shares) == 0)
		}
	}
}

// A member has one handover proven at a time, and the next one when that is done.
func TestTheNextHandoverIsProven(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "north"))
	hands := Received{From: "north", Message: wire.Message{Contract: "k", Body: wire.Handover{}}}
	for i, want := range []bool{true, false, true} {
		if i == 2 {
			d.step(Proven{hands})
		}
		d.step(Arrived{From: hands.From, Message: hands.Message})
		if _, is := next[Prove](d); is != want {
			t.Errorf("handover %d is proven %v, want %v", i, is, want)
		}
	}
}

// Nothing is asked of machines that sleep: what they were is in the store, and whatever they did would be told by nobody.
func TestMachinesThatSleepDoNothing(t *testing.T) {
	t.Parallel()
	delegate := wire.Message{Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{9}, Number: 1}, Body: wire.Delegate{Intents: []wire.Offer{{}}}}
	endorse := wire.Message{Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{9}, Number: 1}, Body: wire.Endorse{}}
	for name, feed := range map[string]func(*desk){
		"sender":      func(d *desk) { d.toSender(sender.Submit{Key: "a"}) },
		"coordinator": func(d *desk) { d.toCoordinator(coordinator.Received{From: "alice", Message: delegate}) },
		"endorser":    func(d *desk) { d.toEndorser(endorser.Received{From: "alice", Message: endorse}) },
	} {
		for _, asleep := range []bool{false, true} {
			d := newDesk(t, "alice", declared("alice"))
			d.asleep = asleep
			feed(d)
			if did := len(d.core.out.Acts)+len(d.core.out.Writes) > 0; did == asleep {
				t.Errorf("the %s does something %v while it sleeps %v", name, did, asleep)
			}
		}
	}
}

// What a coordinator has stored of its senders is written: after a start it would else tell them of each dispatch again.
func TestWhatACoordinatorNotesIsWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice"))
	in := []ledger.Intent{{Owner: "alice"}}
	d.actForCoordinator(coordinator.Note{Intents: in})
	d.actForCoordinator(coordinator.Forget{Intents: in})
	w := d.core.out.Writes
	if len(w) != 2 || len(w[0].Change.Noted) != 1 || len(w[1].Change.Over) != 1 {
		t.Errorf("these are written: %+v", w)
	}
}

// The ledger has skipped an attempt since a state that it needs is missing: so it is asked which of those states it still has. An answer that
// comes when the contract sleeps changes nothing.
func TestASkippedAttemptHasTheLedgerAsked(t *testing.T) {
	t.Parallel()
	for _, asleep := range []bool{false, true} {
		a := newAway(t, 1)
		if _, err := a.Book.Hear(a.attempt[0]); err != nil {
			t.Fatal(err)
		}
		needs := wire.Whole{Attempt: ledger.Attempt{
			Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: 9}}, Payload: domain.PayloadHash([]byte("p")), Inputs: []ledger.StateID{a.state(0)},
		}, Payload: []byte("p")}
		skipped, err := a.Book.Hear(needs)
		if err != nil {
			t.Fatal(err)
		}
		a.step(Followed{Contract: "k", Life: a.life, Step: ledger.Block{Number: 10, Facts: []ledger.Fact{{Intent: needs.Attempt.Intent, Assembled: skipped, Skipped: ledger.Missing}}}})
		asked := must[ReadFinal](a.desk)
		a.asleep = asleep
		a.step(Answered{ID: asked.ID, Final: asOf{number: 9}})
		if there := a.Book.Unspent(a.state(0)); there != asleep {
			t.Errorf("asleep %v: the state is there %v", asleep, there)
		}
	}
}
