package transactions

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// What any process writes is told on every node: to those who wait, and to event streams. A notification that is lost delays it.
func TestNewsOfADatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db, err := pgstore.Open(t.Context(), server.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := db.Store(payerAccount.Chain.ID(), "another node")
	token, _ := nodetest.Lead(t, server.URL, "a", "pending:test", time.Minute)
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler)}, nil)
	s.accounts.configured = []Account{payerAccount}
	ctx, end := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { s.news.follow(ctx, db) })
	defer following.Wait()
	defer end()
	in, err := store.Accept(t.Context(), pending.Intent{Account: payerAccount.Address})
	if err != nil {
		t.Fatal(err)
	}
	one, leave, err := s.news.wait(in.ID, "", patience{until: untilNonce})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	attempt := chain.Signed{Account: payerAccount.Address, Hash: "hash", Bytes: []byte{1}}
	if err := store.Write(t.Context(), token, pending.Batch{Account: payerAccount.Address, New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{attempt}}}}); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, time.Minute, "it has a nonce", func() { <-one.woken })
}

// An event stream hears what happens to the transactions of the account that it names, after a gap: what was before is for those who ask.
func TestTransactionsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld()
	board := web.NewBoard()
	w.api.news.board = board
	board.Offer(kindTransaction, w.api.news.selects)
	w.more = func(c *web.Config) { c.Board = board }
	api := w.handler(t)
	for name, want := range map[string]int{"payer": 200, payerAccount.Address.String(): 200, "nobody": 404} {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: "HEAD /v1/events?transaction=" + name}.Request())
		if out.Code != want {
			t.Errorf("of %s: got %d, want %d", name, out.Code, want)
		}
	}
	told := make(chan string, 1)
	ctx, end := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: "GET /v1/events?transaction=payer"}.Request().WithContext(ctx))
		told <- out.Body.String()
	})
	pgtest.Within(t, time.Minute, "the stream has begun", func() {
		for !board.Heard(kindTransaction) {
			runtime.Gosched()
		}
	})
	w.becomes(secondID, func(r *pending.Record) { r.Fate, r.Why = pending.Rejected, "no" }, pending.ToldRejected)
	w.becomes(firstID, func(r *pending.Record) { r.Fate = pending.Open }, pending.ToldRewound)
	w.api.news.board.Tell(web.Notice{Kind: kindTransaction, Gap: "the end", Ends: true})
	pgtest.Within(t, time.Minute, "the stream has ended", ended.Wait)
	end()
	got := <-told
	for _, want := range []string{
		`event: transaction`, `"id":"` + secondID + `","version":2,"event":"rejected","account":"payer","chain":"evm:1","address":"` + payerAccount.Address.String() + `","fate":"rejected","outcome":"rejected","nonce":null,"hash":null,"block":null`,
		`"id":"` + firstID + `","version":10,"event":"rewound"`, `"fate":"open","outcome":null,"nonce":3`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the stream has %s, want %s", got, want)
		}
	}
}

// A list of several chains leaves nothing out between two answers, although each chain gives only so much.
func TestAListIsWalkedThrough(t *testing.T) {
	t.Parallel()
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler)}, nil)
	var want []string
	for i, id := range []int{1, 2} {
		a := payerAccount
		a.Name, a.Chain.ChainID = fmt.Sprint("payer ", i), id
		s.accounts.stores[a.Chain.ID()] = &pending.Memory{}
		s.accounts.configured = append(s.accounts.configured, a)
	}
	for i := range 150 {
		a := s.accounts.configured[i*i%3%2]
		in, err := s.accounts.store(a.Chain).Accept(t.Context(), pending.Intent{Account: a.Address, Call: chain.Call{Data: make([]byte, i%4*(40<<10))}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, idText(in.ID))
	}
	slices.Reverse(want)
	for _, most := range []int{1, 7, 150, 1000} {
		var got []string
		wanted := Selection{Filter: pending.Filter{Most: most, Bytes: listed}}
		for range 200 {
			found, next, err := s.transactions.list(t.Context(), wanted)
			if err != nil || len(found) > most {
				t.Fatalf("got %d, error %v, want %d at most", len(found), err, most)
			}
			for _, one := range found {
				got = append(got, one.ID)
			}
			if wanted.Below = next; next == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: got %v, want %v", most, got, want)
		}
	}
}
