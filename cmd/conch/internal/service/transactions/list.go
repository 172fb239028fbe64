package transactions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

func (a *api) getTransactions(w http.ResponseWriter, r *http.Request) error {
	wanted, err := selection(r)
	if err != nil {
		return err
	}
	leave, err := place(a.lists)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	at := time.Now()
	found, next, err := a.transactions.list(ctx, wanted)
	if err != nil {
		return notAccepted(err)
	}
	out := struct {
		AsOf         time.Time     `json:"as_of"`
		Transactions []Transaction `json:"transactions"`
		Next         *string       `json:"next"`
	}{AsOf: at.UTC(), Transactions: append([]Transaction{}, found...)}
	if next > 0 {
		out.Next = new(strconv.FormatUint(next, 36))
	}
	return web.Answer(w, http.StatusOK, out)
}

func selection(r *http.Request) (wanted Selection, err error) {
	q := r.URL.Query()
	wanted = Selection{Name: q.Get("account"), Filter: pending.Filter{State: q.Get("state"), Standing: q.Get("fate"), Key: q.Get("key"), Bytes: listed}}
	if wanted.Most, err = web.Limit(r); err != nil {
		return wanted, err
	}
	refuse := func(name, text string, args ...any) error {
		return web.Failf(http.StatusBadRequest, "%s = %.100q %s", name, q.Get(name), fmt.Sprintf(text, args...)).Wrong(name)
	}
	for _, name := range []string{"key", "hash", "nonce", "to", "since", "until", "cursor"} {
		if q.Has(name) && q.Get(name) == "" {
			return wanted, refuse(name, "is empty")
		}
	}
	switch {
	case q.Has("state") && !slices.Contains(pending.Statuses(), wanted.State):
		return wanted, refuse("state", "is none of %v", pending.Statuses())
	case q.Has("fate") && !slices.Contains(pending.Standings(), wanted.Standing):
		return wanted, refuse("fate", "is none of %v", pending.Standings())
	case q.Has("key") && wanted.Name == "":
		return wanted, refuse("key", "is a key of one account: name the account too")
	case q.Has("nonce") && wanted.Name == "":
		return wanted, refuse("nonce", "is a nonce of one account: name the account too")
	case q.Has("key") && web.CheckKey(wanted.Key) != nil:
		return wanted, refuse("key", "is a key that no transaction has")
	}
	return wanted, wanted.read(q, refuse)
}

// read reads those parameters of a query that are no words.
func (s *Selection) read(q url.Values, refuse func(name, text string, args ...any) error) error {
	if q.Has("nonce") {
		n, err := strconv.ParseUint(q.Get("nonce"), 10, 63)
		if err != nil {
			return refuse("nonce", "is no nonce")
		}
		s.Index = &n
	}
	if q.Has("hash") {
		raw, err := chain.ParseHex(q.Get("hash"))
		if err != nil || len(raw) == 0 {
			return refuse("hash", "is no hash: write hexadecimal digits after 0x")
		}
		s.Hash = chain.Hash(raw)
	}
	if q.Has("to") {
		to, err := evm.ParseAddress(q.Get("to"))
		if err != nil {
			return refuse("to", "%v", err)
		}
		s.To = to
	}
	if q.Has("cursor") {
		below, err := strconv.ParseUint(q.Get("cursor"), 36, 63)
		if err != nil || below == 0 {
			return refuse("cursor", "is no cursor: send next as it is in an answer")
		}
		s.Below = below
	}
	for name, into := range map[string]*time.Time{"since": &s.Since, "until": &s.Until} {
		if !q.Has(name) {
			continue
		}
		at, err := time.Parse(time.RFC3339, q.Get(name))
		if err != nil {
			return refuse(name, "is no time, such as 2026-01-31T12:00:00Z")
		}
		*into = at
	}
	return nil
}

const (
	listed  = 4 << 20   // bounds the bytes of all calls in one list; the answer takes several times as many
	largest = 128 << 10 // bytes of a call, which no node takes
)

// list returns the newest transactions that a selection has and the caller may see, newest first, and where the next list begins, 0 if there are no more.
func (ts *transactions) list(ctx context.Context, s Selection) (all []Transaction, next uint64, err error) {
	stores := ts.accounts.chainStores()
	if s.Name != "" {
		a, kept, known := ts.accounts.find(s.Name)
		if !known {
			return nil, 0, unknownAccount(s.Name)
		}
		s.Account, stores = a.Address, []chainStore{{a.Chain.ID(), kept}}
	}
	var above uint64 // of what is listed: a chain may have others below it, which were left out
	for _, b := range stores {
		var err error
		if s.Token, err = ts.policies.sight(ctx, web.Token(ctx), b.id, b.store); err != nil {
			return nil, 0, err
		}
		found, err := b.List(ctx, s.Filter)
		if err != nil {
			return nil, 0, err
		}
		bytes := 0
		for _, r := range found {
			bytes += len(r.Call.Data)
			all = append(all, ts.show(b.id, r))
		}
		if n := len(found); n > 0 && (n == s.Most || bytes > listed-largest) {
			above = max(above, found[n-1].Place)
		}
	}
	slices.SortStableFunc(all, func(a, b Transaction) int { return cmp.Compare(b.record.Place, a.record.Place) })
	all = slices.DeleteFunc(all, func(t Transaction) bool { return t.record.Place < above })
	if len(all) > s.Most {
		all, above = all[:s.Most], all[s.Most-1].record.Place
	}
	if above > 0 {
		next = all[len(all)-1].record.Place
	}
	return all, next, nil
}
