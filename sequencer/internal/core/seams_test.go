package core

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
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
		known, _ := d.Book.Height()
		if owner, _ := d.Sender.Height(); known != c.want || owner != c.want {
			t.Errorf("block %d of life %d: the book is at %d and the sender at %d, want %d", c.number, c.life, known, owner, c.want)
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
		"sender":      func(d *desk) { d.toSender(sender.IntentRow{Key: "a"}) },
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

// whole returns an attempt of a member that needs nothing.
func whole(owner ledger.Account) wire.Whole {
	secret := domain.Secret{Data: []byte("money")}
	return wire.Whole{Attempt: ledger.Attempt{
		Intent: ledger.Intent{Owner: owner, Sequence: ledger.Sequence{Counter: 1}}, Payload: domain.PayloadHash([]byte("p")), Outputs: []ledger.Hash{secret.Commitment()},
	}, Payload: []byte("p"), Outputs: []domain.Secret{secret}}
}

// A contract falls asleep once nothing that it has begun is under way: what is read at its next start would else lack what is on its way to the
// store, and a second hand would give the ledger what the first one is giving it. Then it is not followed any more, and does nothing.
func TestWhatKeepsAContractAwake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ begin, end func(*desk) }{
		"nothing": {func(*desk) {}, func(*desk) {}},
		"a change that is not stored": {
			func(d *desk) { d.storeChange(Change{}, nil) },
			func(*desk) {},
		},
		"what is handed in": {
			func(d *desk) { d.submitSent(ledger.Sent{By: "alice", Entries: []ledger.Entry{{}}}) },
			func(d *desk) {
				d.step(Answered{ID: must[HandIn](d).ID})
				d.step(Answered{ID: must[Wait](d).ID})
			},
		},
		"rules that are asked": {
			func(d *desk) {
				d.step(Arrived{From: "alice", Message: request(wire.Endorse{Attempts: []wire.Whole{whole("alice")}})})
				d.follows(10) // and the book has forgotten the attempt
				d.step(Written{IDs: slices.Sorted(maps.Keys(d.core.writing))})
			},
			func(d *desk) { d.step(Answered{ID: must[Check](d).ID}) },
		},
	} {
		d := newDesk(t, "alice", declared("alice"))
		c.begin(d)
		d.core.now = 2 * time.Hour
		d.step(Tick{})
		if awake := d.core.IsAwake("k"); awake == (name == "nothing") {
			t.Errorf("%s: it is awake %v", name, awake)
		}
		c.end(d)
		d.step(Written{IDs: slices.Sorted(maps.Keys(d.core.writing))})
		d.core.now = 4 * time.Hour
		d.step(Tick{})
		if _, is := next[Unfollow](d); !is || d.core.IsAwake("k") {
			t.Errorf("%s: it is over, and the contract is awake %v, followed %v", name, d.core.IsAwake("k"), !is)
		}
		acts := len(d.core.out.Acts)
		if d.toSender(sender.IntentRow{Key: "a"}); len(d.core.out.Acts)+len(d.core.out.Writes) > acts {
			t.Errorf("%s: it sleeps, and does %+v", name, d.core.out)
		}
	}
}

// A contract is read once, however often it is asked for meanwhile and afterwards: two lives of it would each do all.
func TestAContractIsReadOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice"))
	d.step(Rouse{"k"})
	d.core.now = 2 * time.Hour
	d.step(Tick{})
	d.step(Rouse{"k"})
	d.step(Rouse{"k"})
	d.step(Reach{Ticket: 1, Contract: "k"})
	must[Open](d)
	if again, is := next[Open](d); is {
		t.Errorf("it is read twice: %+v", again)
	}
}

// begun is a desk that has just started. The store's last block and the ledger's are given.
func begun(t *testing.T, last, head uint64, stored Stored) *desk {
	t.Helper()
	stored.Book = book.Snapshot{Number: last}
	c := newCore("alice", declared("alice", "north"))
	opened, err := c.Open("k", Read{Lineage: 1, Head: head, Stored: stored})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{opened.contract, t}
	d.step(opened)
	return d
}

// follows has blocks come, up to one.
func (d *desk) follows(to uint64) {
	for head, _ := d.Book.Height(); head < to; head++ {
		d.step(Followed{Contract: "k", Life: d.life, Step: ledger.Block{Number: head + 1}})
	}
}

// What is asked of a contract waits until it knows of the blocks that came while it slept.
func TestNothingIsDoneByOldBlocks(t *testing.T) {
	t.Parallel()
	d := begun(t, 20, 22, Stored{})
	d.step(Reach{Ticket: 1, Contract: "k"})
	for to := uint64(20); to <= 22; to++ {
		d.follows(to)
		if _, is := next[Reached](d); is != (to == 22) {
			t.Errorf("at block %d it is reached %v", to, is)
		}
	}
}

// A start reckons by the block that is final by what the store has, and not by the store's last one: it would refuse what is asked in a range
// that has not ended.
func TestAStartKnowsWhatIsFinal(t *testing.T) {
	t.Parallel()
	for last, takes := range map[uint64]bool{31: true, 32: false} { // in range 3, whose first block is 30, nobody endorses for range 0
		d := begun(t, last, last, Stored{})
		d.step(Arrived{From: "alice", Message: request(wire.Endorse{Attempts: []wire.Whole{whole("alice")}})})
		if _, is := next[Check](d); is != takes {
			t.Errorf("after block %d it endorses for range 0: %v", last, is)
		}
	}
}

// P39: what an intent of an earlier start was granted need not be known, so it has ended only when the last block of such a grant is final: Life
// and Depth above the ledger's head at the start, which may be far above the store's last block.
func TestAnEarlierIntentEndsWithItsGrants(t *testing.T) {
	t.Parallel()
	for number, ends := range map[uint64]bool{29: false, 38: false, 39: true} {
		row := sender.Loaded{IntentRow: sender.IntentRow{Sequence: ledger.Sequence{Lineage: 1, Counter: 1}, Key: "a", Payload: []byte("p")}, GivenUp: "its user has cancelled it"}
		d := begun(t, 20, 30, Stored{Intents: []sender.Loaded{row}})
		d.step(Answered{ID: must[ReadFinal](d).ID, Final: asOf{number: number}})
		ended := false
		for _, w := range d.core.writing {
			ended = ended || w.Change.Sender != nil && len(w.Change.Sender.Results) > 0
		}
		if ended != ends {
			t.Errorf("judged in block %d it has ended %v", number, ended)
		}
	}
}

// P40: what was dispatched before is handed in again when the node has followed the ledger to the block by which it was judged. Before, it does
// not know what has landed meanwhile.
func TestEarlierRowsWaitForTheirBlock(t *testing.T) {
	t.Parallel()
	w := whole("north")
	row := coordinator.Row{Dispatch: wire.Dispatch{Whole: w, Grant: ledger.Grant{ValidUntil: 60}}}
	d := begun(t, 20, 20, Stored{Rows: []coordinator.Row{row}})
	d.step(Answered{ID: must[ReadFinal](d).ID, Final: asOf{number: 25}})
	for _, to := range []uint64{24, 27, 28} { // with 28 the block 25 is final
		d.follows(to)
		if _, is := next[HandIn](d); is != (to == 28) {
			t.Errorf("at block %d it is handed in %v", to, is)
		}
	}
}

// An attempt is given up when all members were asked for it in vain, and others of which that is not so are not even asked about.
func TestWhatWasAskedForSeldomIsKept(t *testing.T) {
	t.Parallel()
	a := newAway(t, 2)
	missing := a.Book.Missing()
	a.absent.lacks = lacks{missing[0].Assembled: {tries: beyond}, missing[1].Assembled: {tries: beyond - 1}}
	a.absent.doubtMissing(missing, 0)
	a.settle()
	if left := a.Book.Missing(); len(left) != 1 || left[0].Assembled != missing[1].Assembled {
		t.Errorf("%v are missing, want the one that was asked for seldom", left)
	}
}
