package transactions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// twoNodes are the APIs of two nodes over one database.
func twoNodes(t *testing.T) (all [2]http.Handler, store *pgstore.Store) {
	t.Helper()
	server := pgtest.New(t)
	for i := range all {
		db, err := pgstore.Open(t.Context(), server.Config(), 4)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		store = db.Store(payerAccount.Chain.ID(), fmt.Sprint("node-", i))
		w := newWorld()
		w.api.transactions.accounts.stores[payerAccount.Chain.ID()] = store
		all[i] = w.handler(t)
	}
	return all, store
}

// S23, C4.1: a key in the header is a key: sent twice it is one transaction, on whichever node. C4.2: of forty callers who use one key at
// two nodes for two calls at once, those of one call get one id, and all others are told that it is taken.
func TestOneKeyIsOneTransaction(t *testing.T) {
	t.Parallel()
	nodes, store := twoNodes(t)
	ask := func(node int, key, value string) (string, int) {
		out := httptest.NewRecorder()
		nodes[node].ServeHTTP(out, exchange{Ask: "POST " + toTX, Body: body(`,"value":"` + value + `"`), Header: "Idempotency-Key: " + key}.Request())
		var got struct{ ID string }
		_ = json.Unmarshal(out.Body.Bytes(), &got)
		return got.ID, out.Code
	}
	first, code := ask(0, "hdr-1", "5")
	again, other := ask(1, "hdr-1", "5")
	if code != http.StatusAccepted || other != http.StatusAccepted || first != again || first == "" {
		t.Errorf("one key in the header is answered with %d %s and %d %s", code, first, other, again)
	}
	var callers sync.WaitGroup
	var mu sync.Mutex
	ids, codes := map[string]map[string]int{}, map[int]int{}
	for i := range 40 {
		callers.Go(func() {
			value := fmt.Sprint(7 + i/2%2)
			id, code := ask(i%2, "raced", value)
			mu.Lock()
			defer mu.Unlock()
			if codes[code]++; code == http.StatusAccepted {
				if ids[value] == nil {
					ids[value] = map[string]int{}
				}
				ids[value][id]++
			}
		})
	}
	pgtest.Within(t, time.Minute, "all callers are answered", callers.Wait)
	if len(ids) != 1 || codes[http.StatusAccepted] != 20 || codes[http.StatusConflict] != 20 {
		t.Errorf("got %v, and the ids %v by value; want 20 times one id, and 20 times that the key is taken", codes, ids)
	}
	for _, of := range ids {
		if len(of) != 1 {
			t.Errorf("one key has the ids %v", of)
		}
	}
	all, err := store.List(t.Context(), pending.Filter{Most: 9})
	if err != nil || len(all) != 2 {
		t.Errorf("%d transactions are stored, %v; want two", len(all), err)
	}
}
