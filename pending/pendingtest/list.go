package pendingtest

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

func listsAndCounts(t *testing.T, f Fixture) {
	names, ids := map[pending.ID]string{}, map[string]*pending.ID{}
	for n, key := range []string{"done", "sent", "waits", "rejected"} {
		in := f.accept(t, key, n)
		names[in.ID], ids[key] = key, &in.ID
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, ids["done"]), slot(1, ids["sent"])}, Rejects: []pending.Reject{{Intent: *ids["rejected"], Why: "no"}}})
	f.write(t, pending.Batch{Changes: []pending.Change{
		final(0, pending.Finalized, pending.Done), {Index: 1, Hash: "1a", Status: pending.Broadcast},
	}})
	for _, c := range []struct {
		filter pending.Filter
		want   string
	}{
		{pending.Filter{Most: 9}, "[rejected waits sent done]"},
		{pending.Filter{Most: 2}, "[rejected waits]"},
		{pending.Filter{Most: 9, Account: Account}, "[rejected waits sent done]"},
		{pending.Filter{Most: 9, Account: "somebody else's"}, "[]"},
		{pending.Filter{Most: 9, State: "broadcast"}, "[sent]"},
		{pending.Filter{Most: 9, State: "future"}, "[]"},
		{pending.Filter{Most: 9, Standing: pending.Queued}, "[waits]"},
		{pending.Filter{Most: 9, Standing: "open"}, "[sent]"},
		{pending.Filter{Most: 9, Standing: "done", State: "finalized"}, "[done]"},
		{pending.Filter{Most: 9, Bytes: 1}, "[rejected waits sent done]"}, // none has data
	} {
		found, err := f.Store.List(t.Context(), c.filter)
		got := []string{}
		for _, r := range found {
			got = append(got, names[r.ID])
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v: got %v, error %v; want %s", c.filter, got, err, c.want)
		}
	}
	for i, size := range []int{3, 5} {
		in, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: fmt.Sprint("large ", i), Call: chain.Call{Data: make([]byte, size)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Store.Cancel(t.Context(), in.ID); err != nil { // it is not counted
			t.Fatal(err)
		}
	}
	for bytes, want := range map[int]int{4: 0, 5: 1, 7: 1, 8: 6, 0: 6} {
		if found, err := f.Store.List(t.Context(), pending.Filter{Most: 9, Bytes: bytes}); err != nil || len(found) != want {
			t.Errorf("limit of %d bytes: got %d intents, error %v; want %d", bytes, len(found), err, want)
		}
	}
	counts, err := f.Store.Counts(t.Context())
	got := map[pending.Count]bool{}
	for _, c := range counts {
		got[c] = true
	}
	if err != nil || len(got) != 2 || !got[pending.Count{Account: Account, State: "broadcast", N: 1}] || !got[pending.Count{Account: Account, State: pending.Queued, N: 1}] {
		t.Errorf("counts: got %+v, error %v; want one broadcast and one queued", counts, err)
	}
}
