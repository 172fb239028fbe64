package auditor_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

func TestAWholeRecordIsFoundWhole(t *testing.T) {
	t.Parallel()
	v := auditor.Judge(whole(t))
	if err := v.Fault(); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(v)
	const want = `{"accepted":4,"confirmed":2,"reverted":2,"kills":1,"pauses":2,"partitions":3,"landed":2,"skipped":1,"calm":{"landed":2,"skipped":1},"twice":0,"lost":0,"untrue":0,"denied":0,` +
		`"dispatch_ms":{"p50":500,"p99":500,"max":500},"conserved":true,"violations":[]}`
	if err != nil || string(got) != want {
		t.Errorf("the verdict is %s, %v; want %s", got, err, want)
	}
}

func TestALedgerWithoutEntriesProvesNothing(t *testing.T) {
	t.Parallel()
	r := whole(t)
	r.Requests, r.Told, r.Ledger.Entries, r.Ledger.Unspent, r.Openings = nil, nil, nil, nil, nil
	if v := auditor.Judge(r); v.Fault() == nil || len(v.Violations) > 0 {
		t.Errorf("got %v with violations %v, want a fault without any", v.Fault(), v.Violations)
	}
}

// spoiling is one fact of a record that is not as it was.
type spoiling struct {
	name  string
	spoil func(r *auditor.Record)
	want  string // in a violation
	count func(v auditor.Verdict) bool
}

func twice(v auditor.Verdict) bool     { return v.Twice > 0 }
func lost(v auditor.Verdict) bool      { return v.Lost > 0 }
func untrue(v auditor.Verdict) bool    { return v.Untrue > 0 }
func poorer(v auditor.Verdict) bool    { return !v.Conserved }
func uncounted(v auditor.Verdict) bool { return v.Twice+v.Lost+v.Untrue == 0 }

// I1, I2, I3, P43: each thing that must never be is seen by the judge, in words and in its number.
var spoilings = []spoiling{
	{"another contract", func(r *auditor.Record) { r.Ledger.Created.Code[0]++ }, "not created by the audited code", uncounted},
	{"no creation", func(r *auditor.Record) { r.Ledger.Created = auditor.Created{} }, "not created by the audited code", uncounted},
	{"it came to a stop", func(r *auditor.Record) { r.Stuck = "nothing has happened for 3m0s" }, "nothing has happened for 3m0s", uncounted},
	{"an ended certificate is believed", func(r *auditor.Record) { r.Ended[0].Standing = []string{"bank to north"} }, "the certificate of north there were still connections: bank to north", uncounted},
	{"nobody refuses an ended certificate", func(r *auditor.Record) { r.Ended[0].Refused = false }, "said by others: false, that it has ended by its node: true", uncounted},
	{"its node does not say so", func(r *auditor.Record) { r.Ended[0].Said = false }, "by others: true, that it has ended by its node: false", uncounted},
	{"it stays away", func(r *auditor.Record) { r.Ended[0].Away = 3 }, "was renewed, and 3 ways to and from it had no connection", uncounted},
	{"another member", func(r *auditor.Record) { r.Ledger.Created.Members[1] = "0xff" }, "has the members [0xb0 0xff]", uncounted},
	{"fewer endorse", func(r *auditor.Record) { r.Contract.Needed = 2 }, "of which 1 endorse", uncounted},
	{"an intent lands twice", func(r *auditor.Record) {
		again := r.Ledger.Entries[0]
		again.Attempt, again.Outputs = "0xe9", nil
		r.Ledger.Entries = append(r.Ledger.Entries, again)
	}, "bank 01 was ended by the ledger twice", twice},
	{"a cancelled intent lands", func(r *auditor.Record) {
		r.Ledger.Entries = append(r.Ledger.Entries, auditor.Entry{Event: auditor.Landed, Owner: bank, Sequence: "02", Payload: asked(wish), Block: 9, Sender: bank})
	}, "bank 02 was ended by the ledger twice", twice},
	{"a state is spent twice", func(r *auditor.Record) {
		r.Ledger.Entries[1].Event = auditor.Landed
		r.Ledger.Entries[1].Sequence = "09"
	}, "uses the state 0x51, which is spent", twice},
	{"a spent state is read", func(r *auditor.Record) {
		r.Ledger.Entries[3] = auditor.Entry{Event: auditor.Landed, Owner: bank, Sequence: "02", Payload: asked(wish), Reads: []string{"0x51"}, Block: 8, Sender: bank}
	}, "uses the state 0x51", twice},
	{"a state of nowhere is spent", func(r *auditor.Record) { r.Ledger.Entries[2].Inputs = []string{"0x99"} }, "0x99, which is spent or was never there", twice},
	{"a state comes back", func(r *auditor.Record) { r.Ledger.Entries[2].Outputs[1].State = "0x51" }, "creates the state 0x51 again", twice},
	{"a stranger owns", func(r *auditor.Record) { r.Ledger.Entries[2].Owner = "0xcc" }, "its owner or its sender 0xb0 is no member", nil},
	{"a stranger sends", func(r *auditor.Record) { r.Ledger.Entries[2].Sender = "0xcc" }, "its sender 0xcc is no member", uncounted},
	{"the contract keeps a spent state", func(r *auditor.Record) { r.Ledger.Unspent["0x51"] = true }, "0x51 is spent by the entries: true, and unspent by the contract: true", uncounted},
	{"the contract loses a state", func(r *auditor.Record) { r.Ledger.Unspent["0x52"] = false }, "0x52 is spent by the entries: false", uncounted},
	{"the contract has a state of nowhere", func(r *auditor.Record) { r.Ledger.Unspent["0x77"] = true }, "0x77 is unspent, and nothing that landed", uncounted},
	{"a key has two transactions", func(r *auditor.Record) { r.Requests[2].Acks = acks("02", "03") }, "acknowledged as [02 03]", twice},
	{"nobody has ended it", func(r *auditor.Record) { r.Requests[2].Ends = false }, "bank 02 was told reverted, and its customer has not ended it", func(v auditor.Verdict) bool { return v.Denied == 1 }},
	{"a key lands under two numbers", func(r *auditor.Record) {
		r.Told = append(r.Told, auditor.Told{Owner: bank, ID: "04", Key: "k1", Payload: issue, Fate: "confirmed", Attempt: "0xe4"})
		r.Ledger.Entries = append(r.Ledger.Entries, auditor.Entry{Event: auditor.Landed, Owner: bank, Sequence: "04", Payload: asked(issue), Attempt: "0xe4", Block: 9, Sender: bank})
	}, "the key k1 has landed twice, as 01 and 04", twice},
	{"an acknowledged intent is unknown", func(r *auditor.Record) { r.Told = r.Told[:3] }, "bank 03 was acknowledged to the key k3, and its node does not know it", lost},
	{"an acknowledged intent is another", func(r *auditor.Record) { r.Told[3].Payload = unsaid }, "was acknowledged to the key k3 for " + wish, lost},
	{"an acknowledged intent has another key", func(r *auditor.Record) { r.Told[3].Key = "k9" }, "its node has the key k9", lost},
	{"an intent never ends", func(r *auditor.Record) { r.Told[3].Fate = "open" }, "bank 03 has not ended: it is open", lost},
	{"confirmed, and nowhere", func(r *auditor.Record) { r.Told[3].Fate = "confirmed" }, "bank 03 was told confirmed, and the ledger does not have it", untrue},
	{"confirmed by a skipped attempt", func(r *auditor.Record) { r.Told[1].Attempt = "0xe2" }, "north 01 was told confirmed by the attempt 0xe2", untrue},
	{"confirmed before it landed", func(r *auditor.Record) { r.Told[1].Block = 6 }, "of block 6, and the ledger has 0xe3 in block 7", untrue},
	{"reverted, and landed", func(r *auditor.Record) { r.Told[1].Fate = "reverted" }, "north 01 was told reverted, and has landed in block 7", untrue},
	{"told something else first", func(r *auditor.Record) { r.Told[2].First = "confirmed" }, "bank 02 was told confirmed and is reverted now", untrue},
	{"something else landed", func(r *auditor.Record) { r.Ledger.Entries[2].Payload = asked(unsaid) }, "what landed is not what was asked for", untrue},
	{"landed, and unknown to its node", func(r *auditor.Record) { r.Told = slices.Delete(r.Told, 1, 2) }, "north 01 has landed in block 7, and its node does not know it", lost},
	{"landed, and asked for by nobody", func(r *auditor.Record) { r.Requests = slices.Delete(r.Requests, 1, 2) }, "nobody has asked for it", uncounted},
	{"a note is worth more", func(r *auditor.Record) {
		for i := range r.Openings {
			if r.Openings[i].State == "0x52" {
				r.Openings[i], r.Ledger.Entries[2].Outputs[0] = note(r.Openings[i].Node, "0x52", "wages", 5)
			}
		}
	}, "the purse wages has 5 in unspent notes, and by what has landed it has 4", poorer},
	{"a note is in another purse", func(r *auditor.Record) {
		for i := range r.Openings {
			if r.Openings[i].State == "0x52" {
				r.Openings[i], r.Ledger.Entries[2].Outputs[0] = note(r.Openings[i].Node, "0x52", "stock", 4)
			}
		}
	}, "the purse stock has 4 in unspent notes, and by what has landed it has 0", poorer},
	{"an opening does not fit", func(r *auditor.Record) { r.Openings[0].Salt = []byte("another salt....") }, "bank opens the state 0x52 wrongly", poorer},
	{"nobody can open a note", func(r *auditor.Record) { r.Openings = slices.Delete(r.Openings, 0, 4) }, "0x52 is unspent, and no node can open it", poorer},
	{"one node cannot open a note", func(r *auditor.Record) { r.Openings = r.Openings[:3] }, "north does not know the unspent state 0x53", poorer},
	{"a node has a note of nowhere", func(r *auditor.Record) { r.Openings[0].State = "0x88" }, "bank knows the state 0x88, which nothing that landed has created", poorer},
	{"a node has a spent note", func(r *auditor.Record) {
		o, _ := note("north", "0x51", "rent", 10)
		r.Openings = append(r.Openings, o)
	}, "north takes the state 0x51 for unspent, and it is spent", poorer},
	{"a state is no note", func(r *auditor.Record) {
		for i := range r.Openings {
			if r.Openings[i].State == "0x52" {
				r.Openings[i], r.Ledger.Entries[2].Outputs[0] = note(r.Openings[i].Node, "0x52", "", 4)
			}
		}
	}, "0x52 is no note", poorer},
}

func TestASpoiledRecordIsCaught(t *testing.T) {
	t.Parallel()
	for _, c := range spoilings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := whole(t)
			c.spoil(&r)
			v := auditor.Judge(r)
			if !slices.ContainsFunc(v.Violations, func(text string) bool { return strings.Contains(text, c.want) }) {
				t.Errorf("got the violations %q, want one with %q", v.Violations, c.want)
			}
			if v.Fault() == nil || c.count != nil && !c.count(v) {
				t.Errorf("the verdict is %+v with the fault %v, want it counted", v, v.Fault())
			}
		})
	}
}
