package pendingtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
)

func listsAndCounts(t *testing.T, f Fixture) {
	names, ids := map[pending.ID]string{}, map[string]*pending.ID{}
	for n, key := range []string{"done", "sent", "waits", "rejected"} {
		in := f.accept(t, key, n)
		names[in.ID], ids[key] = key, &in.ID
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, ids["done"]), slot(1, ids["sent"])}, Rejects: []pending.Hold{{Intent: *ids["rejected"], Why: "no"}}})
	f.write(t, pending.Batch{Changes: []pending.Change{
		final(0, pending.Finalized, pending.Done), {Index: 1, Hash: "1a", Status: pending.Broadcast},
	}})
	for _, c := range []struct {
		filter pending.Filter
		want   string
	}{
		{pending.Filter{Most: 9}, "[rejected waits sent done]"},
		{pending.Filter{Most: 2}, "[rejected waits]"},
		{pending.Filter{Most: 9, Token: "t"}, "[]"},
		{pending.Filter{Most: 9, Account: Account}, "[rejected waits sent done]"},
		{pending.Filter{Most: 9, Account: "somebody else's"}, "[]"},
		{pending.Filter{Most: 9, State: "broadcast"}, "[sent]"},
		{pending.Filter{Most: 9, State: "future"}, "[]"},
		{pending.Filter{Most: 9, Standing: pending.Queued}, "[waits]"},
		{pending.Filter{Most: 9, Standing: "open"}, "[sent]"},
		{pending.Filter{Most: 9, Standing: "done", State: "finalized"}, "[done]"},
		{pending.Filter{Most: 9, Key: "sent"}, "[sent]"},
		{pending.Filter{Most: 9, Key: "sent", Standing: "done"}, "[]"},
		{pending.Filter{Most: 9, Account: Account, Index: new(uint64(1))}, "[sent]"},
		{pending.Filter{Most: 9, Index: new(uint64(0))}, "[done]"},
		{pending.Filter{Most: 9, Account: "somebody else's", Index: new(uint64(0))}, "[]"},
		{pending.Filter{Most: 9, Hash: "1a"}, "[sent]"},
		{pending.Filter{Most: 9, Hash: "1b"}, "[]"},
		{pending.Filter{Most: 9, To: chain.Account(call(1).To)}, "[rejected waits sent done]"},
		{pending.Filter{Most: 9, To: "x"}, "[]"},
		{pending.Filter{Most: 9, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, "[rejected waits sent done]"},
		{pending.Filter{Most: 9, Since: time.Now().Add(time.Hour)}, "[]"},
		{pending.Filter{Most: 9, Until: time.Now().Add(-time.Hour)}, "[]"},
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
	paged(t, f, names)
	limited(t, f)
	counts, err := f.Store.Counts(t.Context())
	got := map[pending.Count]bool{}
	for _, c := range counts {
		got[c] = true
	}
	if err != nil || len(got) != 2 || !got[pending.Count{Account: Account, State: "broadcast", N: 1}] || !got[pending.Count{Account: Account, State: pending.Queued, N: 1}] {
		t.Errorf("counts: got %+v, error %v; want one broadcast and one queued", counts, err)
	}
}

// paged reads all intents, a page after the other.
func paged(t *testing.T, f Fixture, names map[pending.ID]string) {
	t.Helper()
	paged, below := []string{}, uint64(0)
	for range 5 { // one more than there are
		found, err := f.Store.List(t.Context(), pending.Filter{Most: 1, Below: below})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			paged, below = append(paged, names[r.ID]), r.Place
		}
	}
	if fmt.Sprint(paged) != "[rejected waits sent done]" {
		t.Errorf("page by page: got %v, want each once", paged)
	}
}

// limited adds intents with data, and reads up to so many bytes of it.
func limited(t *testing.T, f Fixture) {
	t.Helper()
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
}

// What a part of conch still has under way to an account is found by its space and that account, whatever else its own account has done.
func theUnfinishedOfAKind(t *testing.T, f Fixture) {
	ids := map[string]*pending.ID{}
	for _, key := range []string{"a done", "a sent", "b sent", "a put off", "a waits", "a cancelled", "a rejected", "b waits", " waits", "A waits"} {
		space, _, _ := strings.Cut(key, " ")
		in, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Space: space, Key: key, Call: call(1)})
		if err != nil {
			t.Fatal(err)
		}
		ids[key] = &in.ID
	}
	if _, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Space: "a", Call: chain.Call{To: []byte{9}}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Store.Cancel(t.Context(), *ids["a cancelled"]); err != nil {
		t.Fatal(err)
	}
	f.write(t, pending.Batch{
		New:     []pending.Slot{slot(0, ids["a done"]), slot(1, ids["a sent"]), slot(2, ids["b sent"])},
		Rejects: []pending.Hold{{Intent: *ids["a rejected"], Why: "no"}},
		Held:    []pending.Held{{Intent: *ids["a put off"], Refusal: pending.Refusal{Cause: pending.Funds, Why: "poor", Times: 1}, Pause: rules.LongestPause}},
	})
	f.write(t, pending.Batch{Changes: []pending.Change{final(0, pending.Finalized, pending.Done), {Index: 1, Hash: "1a", Status: pending.InBlock, Block: chain.Block{Number: 9, Hash: "b"}}}})
	for _, c := range []struct {
		account chain.Account
		space   string
		to      []byte
		want    string
	}{
		{Account, "a", call(1).To, "[a sent open in_block, a put off queued future, a waits queued future]"},
		{Account, "a", []byte{8}, "[]"},
		{Account, "a", nil, "[]"},
		{Account, "A", call(1).To, "[A waits queued future]"},
		{Account, "", call(1).To, "[]"}, // callers ask for a list
		{Account, "c", call(1).To, "[]"},
		{"somebody else's", "a", call(1).To, "[]"},
	} {
		found, err := f.Store.Unfinished(t.Context(), c.account, c.space, c.to)
		var got []string
		for _, r := range found {
			got = append(got, fmt.Sprint(r.Key, " ", r.Standing(), " ", r.Last.Status))
			if r.ID != *ids[r.Key] || len(r.Call.To) == 0 {
				t.Errorf("%s: got %+v, want its ID and its call", r.Key, r)
			}
		}
		if text := "[" + strings.Join(got, ", ") + "]"; err != nil || text != c.want {
			t.Errorf("of %q in %q to %x: got %s, error %v; want %s", c.account, c.space, c.to, text, err, c.want)
		}
	}
}
