//go:build unix

package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// aStorm is a record of two organisations and one fault, in which all is well: one payment landed before the fault and two after
// it, beside as many that were skipped.
func aStorm() stormRecord {
	at := time.Unix(1000, 0)
	r := stormRecord{
		Seed: 7, Owners: []string{"0xa0", "0xa1"}, Restored: -1, Liar: -1, Life: stormLife, Most: mostP99, Issued: 10, Ends: at.Add(60 * time.Second),
		Faults: []stormFault{{Name: "cut", Victim: "bank", From: at.Add(5 * time.Second), To: at.Add(13 * time.Second)}},
	}
	state := ""
	for i, second := range []int{1, 14, 20} {
		p := &stormPayment{
			Of: i % 2, Key: fmt.Sprint("payment-", i), Payload: fmt.Sprint("pays ", i), IDs: []string{fmt.Sprint("s", i)},
			Accepted: at.Add(time.Duration(second) * time.Second), First: "confirmed", Last: "confirmed",
		}
		p.Ended = p.Accepted.Add(4 * time.Second)
		r.Payments = append(r.Payments, p)
		e := stormEntry{
			Block: uint64(second), At: p.Accepted.Add(time.Second), Owner: r.Owners[p.Of], Sequence: p.IDs[0], Payload: stormHash(p.Payload),
			Attempt: fmt.Sprint("attempt-", i), Landed: true, Makes: []string{fmt.Sprint("state-", i)},
		}
		if state != "" {
			doomed := e
			doomed.Attempt, doomed.Landed, doomed.Reason = "doomed-"+e.Attempt, false, 7
			doomed.Needs, doomed.Makes = []string{"nobody's"}, []string{"never-" + e.Attempt}
			r.Entries = append(r.Entries, doomed)
			e.Spends = []string{state}
			e.Needs = e.Spends
		}
		r.Entries = append(r.Entries, e)
		state = e.Makes[0]
	}
	r.Notes = []map[string]uint64{{state: 10}, {state: 10}}
	return r
}

// What judges the storm sees each thing that it is there for: a run of minutes cannot show that.
func TestTheStormsJudge(t *testing.T) {
	t.Parallel()
	good := judgeStorm(aStorm())
	if len(good.Violations) > 0 || good.Landed != 3 || good.Skipped != 2 || good.Faults[0].Landed != 2 || good.Faults[0].Skipped != 2 || good.P99 != 4 {
		t.Errorf("the verdict is %+v, want three landed, two skipped beside two after the fault, and no violation", good)
	}
	lied := aStorm() // all that a liar tells its own users is wrong
	lied.Liar, lied.Payments[1].First, lied.Payments[1].Payload, lied.Notes[1] = 1, "reverted", "another", nil
	lied.Lies = []stormFault{{Name: "a lie", From: lied.Faults[0].From, To: lied.Faults[0].From}}
	if v := judgeStorm(lied); len(v.Violations) > 0 || v.Accepted != 2 || v.Lies[0].Landed != 2 {
		t.Errorf("the verdict is %+v, want two payments of the honest, two entries in the span of the lie, and no violation", v)
	}
	for name, c := range map[string]struct {
		spoil func(r *stormRecord)
		want  string
	}{
		"skipped more":     {func(r *stormRecord) { r.Entries = slices.Insert(r.Entries, 4, r.Entries[3]) }, "3 entries were skipped and 2 landed"},
		"slow":             {func(r *stormRecord) { r.Payments[0].Ended = r.Payments[0].Accepted.Add(16 * time.Second) }, "took 16.0 s"},
		"landed twice":     {func(r *stormRecord) { r.Entries[1].Landed, r.Entries[1].Needs = true, nil }, "has landed twice"},
		"spent twice":      {func(r *stormRecord) { r.Entries[4].Spends = []string{"state-0"} }, "which is not unspent"},
		"lost":             {func(r *stormRecord) { r.Payments[1].Last, r.Payments[1].First = "open", "" }, "has not ended"},
		"told wrongly":     {func(r *stormRecord) { r.Payments[1].Last, r.Payments[1].First = "reverted", "reverted" }, "told reverted, and landed is true"},
		"told two things":  {func(r *stormRecord) { r.Payments[1].First = "reverted" }, "was told reverted and is confirmed now"},
		"another payload":  {func(r *stormRecord) { r.Payments[1].Payload = "pays more" }, "not what was asked for"},
		"nobody's":         {func(r *stormRecord) { r.Payments = r.Payments[:2] }, "nobody has asked for it"},
		"never accepted":   {func(r *stormRecord) { r.Payments[2].IDs = nil }, "was never accepted"},
		"forged money":     {func(r *stormRecord) { r.Notes[1]["state-2"] = 11 }, "the database 1 has 11"},
		"an old note":      {func(r *stormRecord) { r.Notes[0]["state-0"] = 0 }, "which is spent or never was"},
		"a liar's note":    {func(r *stormRecord) { r.Liar = 0; r.Notes[1]["state-2"] = 11 }, "the database 1 has 11"},
		"slow by a liar":   {func(r *stormRecord) { r.Liar, r.Most = 0, 3*time.Second }, "took 4.0 s"},
		"twice by a liar":  {func(r *stormRecord) { r.Liar = 1; r.Entries[1].Landed, r.Entries[1].Needs = true, nil }, "has landed twice"},
		"a note is missed": {func(r *stormRecord) { delete(r.Notes[0], "state-2") }, "the database 0 has 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := aStorm()
			c.spoil(&r)
			if v := judgeStorm(r); !slices.ContainsFunc(v.Violations, func(text string) bool { return strings.Contains(text, c.want) }) {
				t.Errorf("the violations are %q, want one with %q", v.Violations, c.want)
			}
		})
	}
}

// What an entry was skipped for is read from the chain alone.
func TestWhyAnEntryWasSkipped(t *testing.T) {
	t.Parallel()
	entry := func(block uint64, attempt, needs, makes string, reason int) stormEntry {
		return stormEntry{
			Block: block, Owner: "0xa0", Sequence: attempt, Attempt: attempt, Needs: []string{needs}, Spends: []string{needs}, Makes: []string{makes},
			Landed: reason == 0, Reason: reason, Until: block + stormLife,
		}
	}
	first := entry(1, "first", "", "s0", 0)
	first.Needs, first.Spends = nil, nil
	again := entry(3, "spends", "s0", "s1", 3)
	got := causesOf([]stormEntry{
		first, entry(2, "spends", "s0", "s1", 0), again, entry(4, "late", "s0", "s2", 7), entry(5, "on late", "s2", "s3", 7),
		entry(9, "on late", "s2", "s3", 7), entry(9, "early", "s4", "s5", 7), entry(10, "maker", "s1", "s4", 0), entry(11, "alone", "nobody's", "s6", 7),
		entry(99, "old", "s4", "s7", 4),
	}, stormLife)
	want := []string{
		"", "", "had landed itself", "its input was spent (known)", "made by a skipped entry (known)",
		"skipped again, made by a skipped entry (known)", "its maker came later", "", "its maker is in no block", "expired",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A plan is repeated by its seed, and begins with the storm; ten minutes have each kind, and one restored database.
func TestTheStormsPlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		seen := map[string]int{}
		for i, k := range stormPlan(seed, 10*time.Minute) {
			if i == 0 && k.name != "storm" || k.name != stormPlan(seed, 10*time.Minute)[i].name {
				t.Fatalf("seed %d: fault %d is %s", seed, i, k.name)
			}
			seen[k.name]++
		}
		if len(seen) != len(stormKinds) || seen["database restored"] != 1 {
			t.Errorf("seed %d: the plan is %v, want each kind, and one restored database", seed, seen)
		}
	}
	if calm, short := stormPlan(1, time.Minute), stormPlan(1, 70*time.Second); len(calm) != 0 || len(short) != 1 {
		t.Errorf("a minute has %d faults and 70 seconds %d, want none, and the storm", len(calm), len(short))
	}
}
