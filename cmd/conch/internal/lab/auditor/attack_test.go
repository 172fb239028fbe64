package auditor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// attacked is a whole record in which somebody has also copied the payment that landed, and took it for an own one.
func attacked(t *testing.T) auditor.Record {
	t.Helper()
	r := whole(t)
	r.Attack = auditor.Attack{
		Accounts: map[string]string{"0xc1": auditor.Copied, "0xc2": auditor.Moved, "0xc3": auditor.Revoked},
		Sent:     map[string]int{auditor.Copied: 2, auditor.Moved: 1},
	}
	copied := r.Ledger.Entries[2]
	copied.Event, copied.Sender, copied.Reason, copied.Outputs = auditor.Skipped, "0xc1", 5, nil
	moved := copied
	moved.Owner, moved.Sequence, moved.Sender, moved.Reason = north, "99", "0xc2", 6
	r.Ledger.Entries = slices.Insert(r.Ledger.Entries, 2, copied, moved)
	late := copied
	late.Reason = 3
	r.Ledger.Entries = append(r.Ledger.Entries, late)
	return r
}

// Q3, Q18: what an attacker has tried is counted, and each entry of it has to be refused by a rule that is there for it.
func TestAnAttackIsCounted(t *testing.T) {
	t.Parallel()
	v := auditor.Judge(attacked(t))
	if err := v.Fault(); err != nil {
		t.Fatal(err)
	}
	if a := v.Attack; a.Sent[auditor.Copied] != 2 || a.Refused["not granted"] != 1 || a.Refused["not endorsed"] != 1 || a.Refused["repeated"] != 1 || a.Ahead != 1 {
		t.Errorf("the attack is %+v, want two copies, of which one was ahead, and one that was moved", a)
	}
}

func TestAnAttackThatSucceedsIsCaught(t *testing.T) {
	t.Parallel()
	for _, c := range []spoiling{
		{"a copy lands", func(r *auditor.Record) { r.Ledger.Entries[2].Event = auditor.Landed }, "north 01 was landed in block 7 by an attacker, whose attack is of the kind copied", twice},
		{"a moved entry lands", func(r *auditor.Record) { r.Ledger.Entries[3].Event = auditor.Landed }, "north 99 was landed in block 7 by an attacker", nil},
		{"refused by chance", func(r *auditor.Record) { r.Ledger.Entries[3].Reason = 7 }, "of the kind moved on north 99 was refused in block 7 by another rule, number 7", nil},
		{"a rule that is not there", func(r *auditor.Record) { r.Ledger.Entries[3].Reason = 8 }, "by another rule, number 8", nil},
		{"an intent is cancelled by a stranger", func(r *auditor.Record) {
			r.Ledger.Entries[2] = auditor.Entry{Event: auditor.Cancelled, Owner: bank, Sequence: "03", Block: 7, Sender: "0xc3"}
		}, "bank 03 was cancelled in block 7 by an attacker, whose attack is of the kind revoked", nil},
		{"a cancellation of nobody is copied", func(r *auditor.Record) {
			r.Requests[3].Ends = false
			r.Ledger.Entries[2] = auditor.Entry{Event: auditor.Cancelled, Owner: bank, Sequence: "03", Block: 7, Sender: "0xc1"}
		}, "bank 03 was cancelled in block 7 by an attacker, whose attack is of the kind copied", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := attacked(t)
			c.spoil(&r)
			v := auditor.Judge(r)
			if !slices.ContainsFunc(v.Violations, func(text string) bool { return strings.Contains(text, c.want) }) {
				t.Errorf("got the violations %q, want one with %q", v.Violations, c.want)
			}
		})
	}
}

// Anybody who has an owner's signature may send its cancellation.
func TestACopiedCancellationIsNoViolation(t *testing.T) {
	t.Parallel()
	r := attacked(t)
	r.Ledger.Entries[2] = auditor.Entry{Event: auditor.Cancelled, Owner: bank, Sequence: "03", Block: 7, Sender: "0xc1"}
	if err := auditor.Judge(r).Fault(); err != nil {
		t.Error(err)
	}
}

func TestAnAttackThatReachesNoBlockProvesNothing(t *testing.T) {
	t.Parallel()
	r := whole(t)
	r.Attack.Accounts = map[string]string{"0xc1": auditor.Copied}
	if v := auditor.Judge(r); v.Fault() == nil || len(v.Violations) > 0 {
		t.Errorf("got %v with violations %v, want a fault without any", v.Fault(), v.Violations)
	}
}

// Q10: while one node saw an old head, the others went on.
func TestAStallIsCaught(t *testing.T) {
	t.Parallel()
	r := whole(t)
	r.Held = []auditor.Held{{Owner: bank, From: 6, To: 9}}
	if err := auditor.Judge(r).Fault(); err != nil {
		t.Fatal(err)
	}
	r.Held[0].From = 7
	v := auditor.Judge(r)
	if want := "nothing of north has landed in the blocks 8 to 9, in which bank saw an old head"; len(v.Violations) != 1 || v.Violations[0] != want {
		t.Errorf("got the violations %q, want %q", v.Violations, want)
	}
}
