package evm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

var _ sequencer.Reviewer = (*evm.Ledger)(nil)

// desk is a submitter that sends nothing: a test says what becomes of the calls.
type desk struct {
	keys  []string // that were given, also again
	calls []chain.Call
	lasts []uint64
	all   []evm.Submitted // under way
	ended map[string]bool // with an effect
	away  error
	told  func(id string)
}

// Submit implements evm.Submitter. An ended call is not taken again.
func (d *desk) Submit(_ context.Context, key string, call chain.Call, last uint64) (string, error) {
	known := slices.Contains(d.keys, key)
	d.keys, d.calls, d.lasts = append(d.keys, key), append(d.calls, call), append(d.lasts, last)
	if !known {
		d.all = append(d.all, evm.Submitted{ID: "id of " + key, Key: key, Call: call})
	}
	return "id of " + key, d.away
}

// UnderWay implements evm.Submitter.
func (d *desk) UnderWay(_ context.Context, to []byte) (all []evm.Submitted, err error) {
	for _, s := range d.all {
		if bytes.Equal(s.Call.To, to) {
			all = append(all, s)
		}
	}
	return all, d.away
}

// Lost implements evm.Submitter.
func (d *desk) Lost(_ context.Context, id string) (is bool, why string, err error) {
	if d.ended[id] {
		return false, "", d.away
	}
	return true, "somebody has cancelled it", d.away
}

// Heed implements evm.Submitter.
func (d *desk) Heed(told func(id string)) (leave func()) {
	d.told = told
	return func() { d.told = nil }
}

// Withdraw implements evm.Submitter.
func (d *desk) Withdraw(_ context.Context, id string) error {
	d.gone(id)
	return d.away
}

func (d *desk) gone(id string) {
	d.all = slices.DeleteFunc(d.all, func(s evm.Submitted) bool { return s.ID == id })
}

// carries returns which entries, by their counters, the calls under way carry, call by call.
func (d *desk) carries(t *testing.T, entries []ledger.Entry) string {
	t.Helper()
	var all []string
	for _, s := range d.all {
		var some []string
		for _, e := range entries {
			one, err := evm.Calldata(ledger.Sent{Entries: []ledger.Entry{e}})
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(s.Call.Data, one[4+3*32:]) { // its part of a batch
				some = append(some, fmt.Sprint(e.Sequence.Counter))
			}
		}
		all = append(all, strings.Join(some, "+"))
	}
	return strings.Join(all, " ")
}

// batch is a contract at a desk, and entries for it.
type batch struct {
	*testing.T
	*desk
	at      *place
	by      account
	entries []ledger.Entry
	ledger  *evm.Ledger
	reader  *reader
}

func newBatch(t *testing.T, entries int) *batch {
	t.Helper()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	b := &batch{T: t, desk: &desk{ended: map[string]bool{}}, at: at, by: named(t, "stranger")}
	owner := named(t, "member 0")
	for i := range entries {
		e := ledger.Entry{Attempt: ledger.Attempt{
			Intent: ledger.Intent{Owner: owner.name(), Sequence: ledger.Sequence{Lineage: 7, Counter: uint64(i)}},
			Data:   make([]byte, i%3), Outputs: make([]ledger.Hash, i%2+1), Inputs: []ledger.StateID{{byte(i), 1}},
		}}
		e.Grant = ledger.Grant{Assembled: evm.Scheme{}.Assembled(at.contract, e.Attempt), Coordinator: b.by.name(), Delegation: ledger.Hash{byte(i)}, ValidUntil: 90}
		e.Grant.Signature = owner.sign(evm.Scheme{}.Granted(at.contract, e.Grant))
		e.Endorsements = []ledger.Endorsement{{Member: 0, Signature: owner.sign(e.Grant.Assembled)}}
		b.entries = append(b.entries, e)
	}
	b.reader = newReader(t, at, b.desk)
	b.reader.stop()
	b.ledger = b.reader.ledger
	return b
}

// restart opens the ledger as the next process does.
func (b *batch) restart() {
	b.reader.open(b.desk)
	b.ledger = b.reader.ledger
}

func (b *batch) submit(entries ...int) {
	b.Helper()
	if err := b.ledger.Submit(b.Context(), ledger.Sent{By: b.by.name(), Entries: b.some(entries)}); err != nil {
		b.Fatal(err)
	}
}

func (b *batch) some(numbers []int) (some []ledger.Entry) {
	for _, i := range numbers {
		some = append(some, b.entries[i])
	}
	return some
}

// review returns what is lost, and why what is not in a block waits.
func (b *batch) review(awaited ...int) (lost []int, waits string) {
	b.Helper()
	all, waits, err := b.ledger.Review(b.Context(), b.some(awaited))
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range all {
		lost = append(lost, int(e.Sequence.Counter))
	}
	return lost, waits
}

func (b *batch) want(carried string) {
	b.Helper()
	if got := b.carries(b.T, b.entries); got != carried {
		b.Errorf("the calls carry %q, want %q", got, carried)
	}
}

// P40: what an earlier process has handed over is not handed over again, in whatever batches it comes: each would be paid for.
// What it had stored and not handed over goes out.
func TestNothingIsSubmittedTwiceAfterARestart(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 5)
	b.submit(0, 1)
	b.submit(2)
	b.restart()
	b.submit(0, 1, 2, 3)
	b.submit(4, 3)
	b.want("0+1 2 3 4")
	if lost, waits := b.review(0, 1, 2, 3, 4); lost != nil || waits != "" {
		b.Errorf("%v is lost, it waits for %q; want nothing", lost, waits)
	}
}

// P33, Q2: what a call carried that was given up is lost, until another one carries it. It is taken under another key, as often
// as it is given up, and the same one while nobody knows that. What is final with an effect is not lost.
func TestWhatIsGivenUpIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 4)
	b.submit(0, 1)
	b.submit(2)
	b.ended[b.all[1].ID] = true
	for range 3 {
		b.gone(b.all[0].ID)
		b.all = nil
		if lost, waits := b.review(0, 1, 2, 3); !slices.Equal(lost, []int{0, 1, 3}) || waits != "given up: somebody has cancelled it" {
			b.Fatalf("%v is lost, it waits for %q; want 0, 1 and 3", lost, waits)
		}
		if lost, _ := b.review(0, 1, 2); !slices.Equal(lost, []int{0, 1}) {
			b.Fatalf("%v is lost, want 0 and 1 until they are submitted", lost)
		}
		b.submit(0, 1, 2)
		b.want("0+1")
	}
	if keys := slices.Compact(slices.Sorted(slices.Values(b.keys))); len(keys) != 5 {
		b.Errorf("got the keys %q, want four of one call and one of another", keys)
	}
	b.gone(b.all[0].ID)
	b.restart() // it does not know which keys have ended
	b.submit(0, 1)
	if lost, _ := b.review(0, 1); !slices.Equal(lost, []int{0, 1}) {
		b.Errorf("after a restart %v is lost, want 0 and 1", lost)
	}
}

// P36: a call of whose entries none is awaited is withdrawn as long as it is queued, and so is not paid for. One with a nonce stays:
// its bytes may have left. So do cancellations, the calls of other contracts, and those of which one entry is awaited.
func TestWhatNobodyAwaitsIsWithdrawn(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 6)
	c := &cancels{at: b.at, owner: named(t, "member 0")}
	cancel, _ := c.sent()
	if err := b.ledger.Submit(t.Context(), cancel); err != nil {
		t.Fatal(err)
	}
	b.submit(0, 1)
	b.submit(2)
	b.submit(3, 4)
	b.submit(5)
	other := b.all[1]
	other.ID, other.Call.To = "of another contract", []byte("a contract of 20 byt")
	b.all = append(b.all, other)
	b.all[1].Waits, b.all[2].Stage, b.all[4].Stage = "no money", evm.Signed, evm.Included
	b.away = errors.New("the database is away")
	if _, _, err := b.ledger.Review(t.Context(), b.entries); err == nil {
		t.Error("the database is away, and there is no error")
	}
	b.away = nil
	if lost, waits := b.review(1); lost != nil || waits != "no money" {
		t.Errorf("%v is lost, it waits for %q; want nothing, and no money", lost, waits)
	}
	b.want(" 0+1 2 5 0+1")
	if lost, _ := b.review(1, 3); !slices.Equal(lost, []int{3}) { // its block was taken back, say
		t.Errorf("%v is lost, want 3", lost)
	}
	b.submit(3, 4)
	b.want(" 0+1 2 5 0+1 3+4")
	b.review()
	b.want(" 2 5 0+1")
}

// Data that is no batch of entries has none, however it is made, and is left alone.
func TestDataWithoutEntries(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 2)
	whole, err := evm.Calldata(ledger.Sent{Entries: b.entries})
	if err != nil {
		t.Fatal(err)
	}
	if n := evm.Marks(whole); n != 2 {
		t.Errorf("a batch of two has %d entries", n)
	}
	for cut := range whole {
		if n := evm.Marks(slices.Clip(whole[:cut])); n == 2 && cut < len(whole)/2 {
			t.Errorf("%d of %d bytes have %d entries", cut, len(whole), n)
		}
		broken := slices.Clone(whole)
		broken[cut] ^= 0xff
		evm.Marks(broken) // it does not panic
	}
}

// S9: the process that led before may not know yet that another one does. It awaits less than that one has handed over, and
// withdraws none of it.
func TestCallsOfTheNextProcessStay(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 3)
	b.submit(0)
	before := b.ledger
	b.submit(1)
	b.restart()
	b.submit(2)
	for range 2 {
		if lost, _, err := before.Review(t.Context(), b.some([]int{0})); len(lost) > 0 || err != nil {
			t.Errorf("%d entries are lost, error %v; want none", len(lost), err)
		}
		b.want("0 2")
	}
	if lost, _ := b.review(0, 1, 2); !slices.Equal(lost, []int{1}) { // its own may be withdrawn
		t.Errorf("%v is lost, want 1", lost)
	}
	b.restart() // what it finds is its own
	b.review(2)
	b.want("2")
}

// P36: a call gets no nonce once the first of its entries cannot land any more: the others are given up with it, and submitted again. A
// cancellation can land at any time, and so can a nudge.
func TestACallLastsAsLongAsItsEntries(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 3)
	b.entries[1].Grant.ValidUntil = 80
	c := &cancels{at: b.at, owner: named(t, "member 0")}
	cancel, _ := c.sent()
	if err := b.ledger.Submit(t.Context(), cancel); err != nil {
		t.Fatal(err)
	}
	b.submit(0)
	b.submit(2, 1)
	b.all = nil
	if err := b.ledger.Nudge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{0, 90, 80, 0}; !slices.Equal(b.lasts, want) {
		t.Errorf("the last blocks are %v, want %v", b.lasts, want)
	}
}

// P33: the node is told at once of a call of this contract that has ended without effect, and of no other one of the account; also of one
// that an earlier process has handed over.
func TestWhatIsGivenUpIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := newBatch(t, 2)
	b.submit(0)
	b.restart()
	b.submit(1)
	told := 0
	leave, err := b.ledger.Heed(t.Context(), func() { told++ })
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{b.all[0].ID, "of a user", b.all[1].ID, "of another contract"} {
		if b.told(id); told != i/2+1 {
			t.Errorf("after the end of %q the node was told %d times, want %d", id, told, i/2+1)
		}
	}
	if leave(); b.told != nil {
		t.Error("it is told still")
	}
}
