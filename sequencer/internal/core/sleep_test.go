package core

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

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
		if d.toSender(sender.Submit{Key: "a"}); len(d.core.out.Acts)+len(d.core.out.Writes) > acts {
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
	row := coordinator.Row{Whole: w, Entry: ledger.Entry{Attempt: w.Attempt, Grant: ledger.Grant{ValidUntil: 60}}}
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
