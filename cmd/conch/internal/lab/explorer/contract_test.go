package explorer

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

const place = "0x00000000000000000000000000000000000000c0"

func address(b byte) ledger.Account { return ledger.Account(strings.Repeat(string([]byte{b}), 20)) }

func hashOf(b byte) (h ledger.Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

// given is an entry as the sequencer writes it, and as it has to be read.
func given(counter uint64) (ledger.Entry, auditor.Entry) {
	signature := append(append(make([]byte, 0, 65), strings.Repeat("s", 64)...), 27)
	a := ledger.Attempt{
		Intent:  ledger.Intent{Owner: address(0xa1), Sequence: ledger.Sequence{Lineage: 0x0102030405060708, Counter: counter}},
		Payload: hashOf(1), Inputs: []ledger.StateID{ledger.StateID(hashOf(2)), ledger.StateID(hashOf(3))}, Reads: []ledger.StateID{ledger.StateID(hashOf(4))},
		Outputs: []ledger.Hash{hashOf(5), hashOf(6)}, Data: []byte("not a whole word"),
	}
	c := ledger.Contract{Chain: 1337, Address: place}
	assembled := evm.Scheme{}.Assembled(c, a)
	want := auditor.Entry{
		Event: auditor.Landed, Owner: hexOf([]byte(a.Owner)), Sequence: fmt.Sprintf("0102030405060708%016x", counter),
		Payload: a.Payload.String(), Attempt: assembled.String(), Inputs: []string{hashOf(2).String(), hashOf(3).String()}, Reads: []string{hashOf(4).String()},
		Block: 7, Sender: hexOf([]byte(address(0xb2))), Until: 99,
	}
	for i, o := range a.Outputs {
		want.Outputs = append(want.Outputs, auditor.Output{State: evm.Scheme{}.State(assembled, i).String(), Commitment: o.String()})
	}
	return ledger.Entry{
		Attempt: a, Endorsements: []ledger.Endorsement{{Member: 0, Signature: signature}, {Member: 2, Signature: signature}},
		Grant: ledger.Grant{Assembled: assembled, Coordinator: address(0xb2), ValidUntil: 99, Signature: signature},
	}, want
}

// said is the contract's event of an entry.
func said(l *receipt, e auditor.Entry, kind string, words ...string) {
	data := "0x"
	for _, w := range words {
		data += w[2:]
	}
	l.Logs = append(l.Logs, struct {
		Address, Data string
		Topics        []string
	}{place, data, []string{named(kind), "0x" + strings.Repeat("0", 24) + e.Owner[2:], "0x" + strings.Repeat("0", 32) + e.Sequence}})
}

const (
	landedEvent    = "Landed(address,uint128,bytes32,bytes32)"
	cancelledEvent = "Cancelled(address,uint128)"
	skippedEvent   = "Skipped(address,uint128,bytes32,bytes32,uint8)"
)

var none = ledger.Hash{}.String()

// read reads one transaction to the contract.
func read(input []byte, receipt receipt) ([]auditor.Entry, error) {
	r := contractReader{address: place, ledger: &auditor.Ledger{}}
	err := r.transaction(transaction{Hash: "0x1", From: hexOf([]byte(address(0xb2))), To: place, Input: hexOf(input)}, receipt, 7)
	return r.ledger.Entries, err
}

func submitted(t *testing.T, tx ledger.Sent) []byte {
	t.Helper()
	data, err := evm.Calldata(tx)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// P43: the judge reads the ledger by itself: what the sequencer writes reads as it was meant, also in a batch.
func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	one, want := given(1)
	other, skipped := given(2)
	skipped.Event, skipped.Reason = auditor.Skipped, 6
	var receipt receipt
	said(&receipt, want, landedEvent, want.Payload, want.Attempt)
	said(&receipt, skipped, skippedEvent, skipped.Payload, skipped.Attempt, none[:65]+"6")
	got, err := read(submitted(t, ledger.Sent{Entries: []ledger.Entry{one, other}}), receipt)
	if err != nil || !reflect.DeepEqual(got, []auditor.Entry{want, skipped}) {
		t.Errorf("got %+v, %v; want %+v and %+v", got, err, want, skipped)
	}
}

func TestACancellationIsRead(t *testing.T) {
	t.Parallel()
	e, meant := given(3)
	data := submitted(t, ledger.Sent{Cancel: &ledger.Cancellation{Intent: e.Intent, Signature: e.Grant.Signature}})
	for _, c := range []struct {
		kind  string
		words []string
		want  auditor.Entry
	}{
		{cancelledEvent, nil, auditor.Entry{Event: auditor.Cancelled}},
		{skippedEvent, []string{none, none, hashOf(0).String()}, auditor.Entry{Event: auditor.Skipped, Payload: none, Attempt: none}},
	} {
		c.want.Owner, c.want.Sequence, c.want.Block, c.want.Sender = meant.Owner, meant.Sequence, 7, meant.Sender
		var receipt receipt
		said(&receipt, meant, c.kind, c.words...)
		if got, err := read(data, receipt); err != nil || !reflect.DeepEqual(got, []auditor.Entry{c.want}) {
			t.Errorf("got %+v, %v; want %+v", got, err, c.want)
		}
	}
}

// What the contract says must be about what it was given.
func TestEventsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	e, meant := given(1)
	_, other := given(2)
	data := submitted(t, ledger.Sent{Entries: []ledger.Entry{e}})
	var of, unknown, two, elsewhere receipt
	said(&of, other, landedEvent, other.Payload, other.Attempt)
	said(&unknown, meant, "Moved(address,uint128,bytes32,bytes32)", meant.Payload, meant.Attempt)
	said(&two, meant, landedEvent, meant.Payload, meant.Attempt)
	said(&two, meant, landedEvent, meant.Payload, meant.Attempt)
	said(&elsewhere, meant, landedEvent, meant.Payload, meant.Attempt)
	for name, receipt := range map[string]receipt{"another intent": of, "an unknown event": unknown, "two events": two} {
		if got, err := read(data, receipt); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
	r := contractReader{address: place, ledger: &auditor.Ledger{}}
	if err := r.transaction(transaction{To: hexOf([]byte(address(9)))}, elsewhere, 7); err == nil {
		t.Error("an entry by way of another contract was overlooked")
	}
	elsewhere.Logs[0].Address = hexOf([]byte(address(9)))
	if err := r.transaction(transaction{To: hexOf([]byte(address(9)))}, elsewhere, 7); err != nil || len(r.ledger.Entries) > 0 {
		t.Errorf("another contract's words were taken for the contract's: %v, %v", r.ledger.Entries, err)
	}
}

// Bytes that are no arguments are an error, wherever they end.
func TestDataThatEndsEarlyIsRefused(t *testing.T) {
	t.Parallel()
	e, meant := given(1)
	data := submitted(t, ledger.Sent{Entries: []ledger.Entry{e}})
	var receipt receipt
	said(&receipt, meant, landedEvent, meant.Payload, meant.Attempt)
	for n := 4; n < len(data)-1; n += 13 {
		got, err := read(data[:n], receipt)
		if err == nil && !reflect.DeepEqual(got, []auditor.Entry{meant}) { // signatures at the end are not read
			t.Fatalf("of %d bytes it has read %+v, want an error", n, got)
		}
	}
	wild := append([]byte{}, data...)
	for i := 4; i < 36; i++ {
		wild[i] = 0xff // an offset beyond everything
	}
	if got, err := read(wild, receipt); err == nil {
		t.Errorf("got %+v from an offset beyond the data, want an error", got)
	}
}

// The creation shows the code, which the judge knows, and what was declared.
func TestACreationIsRead(t *testing.T) {
	t.Parallel()
	c := ledger.Contract{
		Members: []ledger.Account{address(1), address(2), address(3)}, Committee: []ledger.Account{address(1)}, Needed: 2,
		Range: 40, Depth: 2, Life: 50, Domain: "notes/1 issued by " + address(1).String(),
	}
	data, err := evm.Creation(c)
	if err != nil {
		t.Fatal(err)
	}
	r := contractReader{ledger: &auditor.Ledger{}}
	if err := r.created(transaction{Input: hexOf(data)}); err != nil {
		t.Fatal(err)
	}
	got := r.ledger.Created
	want := []string{hexOf([]byte(address(1))), hexOf([]byte(address(2))), hexOf([]byte(address(3)))}
	if !reflect.DeepEqual(got.Members, want) || got.Needed != 2 || hexOf(got.Code) != hexOf(data[:auditor.CreationSize]) {
		t.Errorf("got the members %v, of which %d endorse; want %v and 2", got.Members, got.Needed, want)
	}
	if err := r.created(transaction{Input: hexOf(data[:auditor.CreationSize+20])}); err == nil {
		t.Error("a creation without arguments was read")
	}
}
