package pgstore_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// By which token an intent was accepted is known for ever: to a list, to the one who uses its key again, and to its events, also once it is in
// the archive.
func TestAnIntentKnowsItsToken(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 1)
	accept := func(token, key string) pending.Intent {
		t.Helper()
		in, err := s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Token: token, Key: key, Call: chain.Call{Gas: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	mine, others, nobodys := accept("payout", "1"), accept("ops", "2"), accept("", "3")
	look := func(when string) {
		t.Helper()
		for token, want := range map[string]pending.ID{"payout": mine.ID, "ops": others.ID} {
			got, err := s.List(t.Context(), pending.Filter{Token: token, Most: 9})
			if err != nil || len(got) != 1 || got[0].ID != want || got[0].Token != token {
				t.Errorf("%s: of %q: got %+v, %v, want one", when, token, got, err)
			}
		}
		if got, err := s.List(t.Context(), pending.Filter{Token: "pay", Most: 9}); err != nil || len(got) != 0 {
			t.Errorf("%s: of nobody: got %+v, %v", when, got, err)
		}
		if got, err := s.List(t.Context(), pending.Filter{Most: 9}); err != nil || len(got) != 3 {
			t.Errorf("%s: of all: got %+v, %v", when, got, err)
		}
		if r, err := s.Get(t.Context(), nobodys.ID); err != nil || r.Token != "" {
			t.Errorf("%s: nobody's is %q's, %v", when, r.Token, err)
		}
		if again := accept("ops", "1"); again.ID != mine.ID || again.Token != "payout" {
			t.Errorf("%s: under a known key: %+v, want the one of payout", when, again)
		}
		events, err := d.Tail(0).Next(t.Context(), 9)
		of := map[pending.ID]string{}
		for _, e := range events {
			of[e.Intent] = e.Token
		}
		if err != nil || len(of) != 3 || of[mine.ID] != "payout" || of[others.ID] != "ops" || of[nobodys.ID] != "" {
			t.Errorf("%s: the events are of %v, %v", when, of, err)
		}
	}
	look("at first")
	for _, in := range []pending.Intent{mine, others, nobodys} {
		if err := s.Cancel(t.Context(), in.ID); err != nil {
			t.Fatal(err)
		}
	}
	if moved, err := s.Archive(t.Context(), current, pendingtest.Account, 0, 9); err != nil || moved != 3 {
		t.Fatalf("%d were moved, %v", moved, err)
	}
	look("in the archive")
}

// What a token has had accepted is listed without reading past what others have, however much that is.
func TestAListOfATokenReadsItsOwn(t *testing.T) {
	t.Parallel()
	const many = 5000
	s, d := openShelf(t).narrow()
	in, err := s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Token: "payout", Call: chain.Call{Gas: 1}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.conn, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator, token)
		SELECT gen_random_uuid(), 'evm:1', '`+string(pendingtest.Account)+`', '', 0, '', 0, 'test', 'ops' FROM generate_series(1, 5000)`)
	run(t, s.conn, `ANALYZE conch.intents`)
	before := s.rowsRead(d, "intents")
	got, err := s.List(t.Context(), pending.Filter{Token: "payout", Most: 50})
	rows := s.rowsRead(d, "intents") - before
	if err != nil || len(got) != 1 || got[0].ID != in.ID || rows > 100 {
		t.Errorf("got %d, %v, by reading %d rows of %d; want one, by reading few", len(got), err, rows, many)
	}
}
