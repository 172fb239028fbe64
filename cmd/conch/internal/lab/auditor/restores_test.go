package auditor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// restored is a record of north, whose database was put back to second 5: its payment was acknowledged in second 6 and
// landed, was forgotten, was asked for again in second 20 under the same key, and has landed once more.
func restored(t *testing.T) auditor.Record {
	t.Helper()
	r := whole(t)
	r.Restores = []auditor.Restore{{Owner: north, Saved: at(5), Back: at(15)}}
	again := r.Ledger.Entries[2]
	again.Sequence, again.Attempt, again.Inputs, again.Block = "20", "0xe4", []string{"0x53"}, 9
	again.Outputs = slices.Clone(again.Outputs)
	var more []auditor.Opening
	for i, o := range []struct {
		state, purse string
		amount       int
	}{{"0x54", "wages", 4}, {"0x55", "rent", 2}} {
		for _, node := range []string{"bank", "north"} {
			opened, out := note(node, o.state, o.purse, o.amount)
			more, again.Outputs[i] = append(more, opened), out
		}
	}
	r.Ledger.Entries = append(r.Ledger.Entries, again)
	r.Openings = append(slices.DeleteFunc(r.Openings, func(o auditor.Opening) bool { return o.State == "0x53" }), more...)
	r.Ledger.Unspent["0x53"], r.Ledger.Unspent["0x54"], r.Ledger.Unspent["0x55"] = false, true, true
	r.Requests[1].Acks = []auditor.Ack{{ID: "01", At: at(6), First: "confirmed", FirstAt: at(9)}, {ID: "20", At: at(20)}}
	r.Told[1] = auditor.Told{Owner: north, ID: "20", Key: "k1", Payload: pay, Fate: "confirmed", Attempt: "0xe4", Block: 9}
	return r
}

// unheard has the payment of second 6 never be acknowledged: its customer was asking for it from then on until second 20.
func unheard(r *auditor.Record) {
	r.Requests[1].Acks = r.Requests[1].Acks[1:]
	r.Requests[1].Asked = []auditor.Asking{{From: at(6), To: at(20)}}
}

// Q5: a restore may make a node forget what it has acknowledged since the copy, and a key may then land once more. That is
// counted, and the money follows what has landed.
func TestARestoreMayForget(t *testing.T) {
	t.Parallel()
	v := auditor.Judge(restored(t))
	if err := v.Fault(); err != nil || v.Restores != 1 || v.Forgotten != 1 || v.Again != 1 || v.Accepted != 5 {
		t.Errorf("the verdict is %+v, %v; want one that was forgotten and has landed again", v, err)
	}
	r := restored(t)
	unheard(&r) // it died before it answered
	if v := auditor.Judge(r); v.Fault() != nil || v.Forgotten != 1 || v.Again != 0 || v.Accepted != v.Confirmed+v.Reverted+1 {
		t.Errorf("the verdict is %+v, %v; want one that was forgotten unheard", v, v.Fault())
	}
	r = restored(t)
	r.Told[1].First, r.Told[1].FirstAt = "reverted", at(8)
	if v := auditor.Judge(r); v.Fault() != nil || v.TakenBack != 1 {
		t.Errorf("the verdict is %+v, %v; want one end that was taken back", v, v.Fault())
	}
}

// A restore excuses nothing else.
func TestARestoreExcusesNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []spoiling{
		{"acknowledged before the copy", func(r *auditor.Record) { r.Requests[1].Acks[0].At = at(4) }, "north 01 was acknowledged to the key k1, and its node does not know it", lost},
		{"acknowledged afterwards", func(r *auditor.Record) { r.Requests[1].Acks[0].At = at(16) }, "north 01 was acknowledged to the key k1, and its node does not know it", lost},
		{"another's restore", func(r *auditor.Record) { r.Restores[0].Owner = bank }, "north 01 was acknowledged to the key k1, and its node does not know it", lost},
		{"it is still known, and there are two", func(r *auditor.Record) {
			r.Told = append(r.Told, auditor.Told{Owner: north, ID: "01", Key: "k1", Payload: pay, Fate: "confirmed", Attempt: "0xe3", Block: 7})
		}, "acknowledged as [01 20]", twice},
		{"told confirmed, forgotten, and not there", func(r *auditor.Record) { r.Ledger.Entries[2].Event = auditor.Skipped }, "north 01 was told confirmed and then forgotten, and the ledger does not have it", untrue},
		{"something else landed", func(r *auditor.Record) { r.Ledger.Entries[2].Payload = asked(unsaid) }, "north 01 has landed in block 7 and was forgotten, and what landed is not what was asked for", untrue},
		{"landed, and nobody had asked for it", func(r *auditor.Record) {
			unheard(r)
			r.Ledger.Entries[2].Payload = asked(unsaid)
		}, "north 01 has landed in block 7, and its node does not know it", lost},
		{"landed unheard, and its customer was answered before", func(r *auditor.Record) { unheard(r); r.Requests[1].Asked[0].To = at(14) }, "north 01 has landed in block 7, and its node does not know it", lost},
		{"landed unheard, and its customer has asked later", func(r *auditor.Record) { unheard(r); r.Requests[1].Asked[0].From = at(16) }, "north 01 has landed in block 7, and its node does not know it", lost},
		{"two landed unheard, and one customer has waited", func(r *auditor.Record) {
			unheard(r)
			more := r.Ledger.Entries[2]
			more.Sequence, more.Inputs, more.Outputs = "09", nil, nil
			r.Ledger.Entries = append(r.Ledger.Entries, more)
		}, "north 09 has landed in block 7, and its node does not know it", lost},
		{"confirmed, and reverted afterwards", func(r *auditor.Record) {
			r.Told[2].First, r.Told[2].FirstAt, r.Restores[0].Owner = "confirmed", at(8), bank
		}, "bank 02 was told confirmed and is reverted now", untrue},
		{"reverted before the copy", func(r *auditor.Record) { r.Told[1].First, r.Told[1].FirstAt = "reverted", at(4) }, "north 20 was told reverted and is confirmed now", untrue},
		{"told reverted, and has landed", func(r *auditor.Record) { r.Told[1].Fate = "reverted" }, "north 20 was told reverted, and has landed in block 9", untrue},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := restored(t)
			c.spoil(&r)
			v := auditor.Judge(r)
			if !slices.ContainsFunc(v.Violations, func(text string) bool { return strings.Contains(text, c.want) }) {
				t.Errorf("got the violations %q, want one with %q", v.Violations, c.want)
			}
		})
	}
}
