//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stormPayment is one request of a user, and what the user was told.
type stormPayment struct {
	Of       int       `json:"of"` // the organisation whose node was asked
	Key      string    `json:"key"`
	Payload  string    `json:"payload"`
	IDs      []string  `json:"ids"` // one, unless the node has forgotten the first
	Accepted time.Time `json:"accepted"`
	Ended    time.Time `json:"ended"`
	First    string    `json:"first"` // the first end that was told
	Last     string    `json:"last"`
	Why      string    `json:"why,omitempty"`
}

const (
	stormPace  = 500 * time.Millisecond // of one organisation: five of them make 10 payments a second
	stormAsk   = 200 * time.Millisecond // from one try to the next
	stormWait  = 5 * time.Second        // for one answer
	stormLook  = 300 * time.Millisecond // from one look at the fates to the next
	openStorm  = "open"
	stormPages = 200
)

var stormClient = &http.Client{Timeout: stormWait}

// asked sends a request to a node's API and decodes the answer. It is called from any goroutine.
func (s *storm) asked(ctx context.Context, i int, method, path, body string, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.apis[i]+"/v1/contracts/"+s.address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := stormClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

type stormStatus struct {
	Head, Final uint64
	Missing     int
}

func (s *storm) status(i int) (st stormStatus, err error) {
	return st, s.asked(s.t.Context(), i, http.MethodGet, "", "", &st)
}

// fills issues the notes, and waits until they are there.
func (s *storm) fills(ctx context.Context) {
	var asking sync.WaitGroup
	for n := range stormPurses * stormNotes {
		p := s.record(0, fmt.Sprint("issue-", n), fmt.Sprintf(`{"issue":{"to":"purse-%d","amount":%d}}`, n%stormPurses, stormAmount))
		asking.Go(func() { s.ask(ctx, p) })
	}
	asking.Wait()
}

func (s *storm) record(of int, key, payload string) *stormPayment {
	p := &stormPayment{Of: of, Key: key, Payload: payload}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payments = append(s.payments, p)
	return p
}

// ask sends a payment under its key until the node accepts it.
func (s *storm) ask(ctx context.Context, p *stormPayment) {
	body := fmt.Sprintf(`{"request":%s,"idempotency_key":%q}`, p.Payload, p.Key)
	for ctx.Err() == nil {
		var said struct{ ID string }
		if err := s.asked(ctx, p.Of, http.MethodPost, "/transactions", body, &said); err == nil {
			s.mu.Lock()
			p.IDs, p.Accepted = append(p.IDs, said.ID), time.Now()
			s.mu.Unlock()
			return
		}
		select {
		case <-time.After(stormAsk):
		case <-ctx.Done():
		}
	}
}

// pays has the users of an organisation pay at the pace until asking ends. What is asked for then is still asked for until looking
// ends. In a round any two purses pay each other the same amount: so none runs dry. A liar's users pay back each time what they have paid,
// as nobody knows which of its payments land.
func (s *storm) pays(asking, looking context.Context, of int, working *sync.WaitGroup) {
	tick := time.NewTicker(stormPace)
	defer tick.Stop()
	step := len(s.all)
	if s.liar >= 0 {
		step-- // it is the last one
	}
	for n := of; ; n += step {
		select {
		case <-asking.Done():
			return
		case <-tick.C:
		}
		from, round := n%stormPurses, n/(stormPurses*(stormPurses-1))
		to := (from + 1 + n/stormPurses%(stormPurses-1)) % stormPurses
		amount := 1 + (17*round+11*min(from, to)+23*max(from, to))%50
		if k := n / step; of == s.liar {
			from, to, amount = (k/2+k%2)%stormPurses, (k/2+1-k%2)%stormPurses, 1+k/2%10
		}
		p := s.record(of, fmt.Sprint("payment-", n), fmt.Sprintf(`{"pay":{"from":"purse-%d","to":"purse-%d","amount":%d}}`, from, to, amount))
		working.Go(func() { s.ask(looking, p) })
	}
}

// looks asks a node for the fates of its payments until the context ends.
func (s *storm) looks(ctx context.Context, of int) {
	for ctx.Err() == nil {
		s.look(ctx, of)
		select {
		case <-time.After(stormLook):
		case <-ctx.Done():
		}
	}
}

// look reads the newest transactions, page by page, until none is left that is open by what users know.
func (s *storm) look(ctx context.Context, of int) {
	path, open := fmt.Sprintf("/transactions?limit=%d", stormPages), s.open(of)
	for before := uint64(0); len(open) > 0; {
		var page struct {
			Transactions []struct{ ID, Fate, Why string }
			Next         uint64 `json:"next_before"`
		}
		more := ""
		if before > 0 {
			more = fmt.Sprint("&before=", before)
		}
		if s.asked(ctx, of, http.MethodGet, path+more, "", &page) != nil {
			return
		}
		s.mu.Lock()
		for _, t := range page.Transactions {
			if p := open[t.ID]; p != nil && t.Fate != openStorm {
				p.First, p.Last, p.Why, p.Ended = t.Fate, t.Fate, t.Why, time.Now()
			}
			delete(open, t.ID)
		}
		s.mu.Unlock()
		if before = page.Next; before == 0 {
			return
		}
	}
}

// open returns the payments of an organisation that have no end yet, by ID, without those that its node has forgotten.
func (s *storm) open(of int) map[string]*stormPayment {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]*stormPayment{}
	for _, p := range s.payments {
		if p.Of == of && len(p.IDs) > 0 && p.First == "" && !s.forgot(p) {
			open[p.IDs[len(p.IDs)-1]] = p
		}
	}
	return open
}

// forgot reports whether a payment was accepted after the copy of a database and before it was put back. The caller has the lock.
func (s *storm) forgot(p *stormPayment) bool {
	return p.Of == s.restored && p.Accepted.After(s.copied) && p.Accepted.Before(s.back)
}

// told reads how each payment has ended by the last word of its node.
func (s *storm) told(of int) {
	s.t.Helper()
	last := map[string]string{}
	for before := ""; ; {
		var page struct {
			Transactions []struct{ ID, Fate string }
			Next         uint64 `json:"next_before"`
		}
		if err := s.asked(s.t.Context(), of, http.MethodGet, "/transactions?limit=1000"+before, "", &page); err != nil {
			s.t.Fatal(err)
		}
		for _, t := range page.Transactions {
			last[t.ID] = t.Fate
		}
		if page.Next == 0 {
			break
		}
		before = fmt.Sprint("&before=", page.Next)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.payments {
		if p.Of == of && len(p.IDs) > 0 {
			p.Last = last[p.IDs[len(p.IDs)-1]]
		}
	}
}

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
		"a kill by nobody": {func(r *stormRecord) { r.Liar, r.Lies = 0, []stormFault{{}, {From: r.Faults[0].To.Add(1)}} }, "within no fault"},
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
