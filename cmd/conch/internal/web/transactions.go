package web

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/conchhq/conch/chain"
)

// maxCall is the largest body of a wish: a call of 128 KiB, more than common nodes
// take, in hexadecimal digits.
const maxCall = 300 << 10

const (
	maxKey           = 200 // bytes of an idempotency key
	pathTransactions = "/v1/transactions"
)

// wish is the body of a POST.
type wish struct {
	Account string  `json:"account"`
	To      string  `json:"to"`
	Value   *string `json:"value"`
	Data    string  `json:"data"`
	Gas     uint64  `json:"gas"`
	Key     string  `json:"idempotency_key"`
}

type accepted struct {
	ID string `json:"id"`
}

func (s *Site) postTransaction(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	var body wish
	if err := readJSON(r, &body); err != nil {
		return err
	}
	wanted, err := body.parse()
	if err != nil {
		return notAccepted(err)
	}
	ctx, cancel := s.patient(r)
	defer cancel()
	id, err := desk.Accept(ctx, wanted)
	if err != nil {
		return notAccepted(err)
	}
	s.cfg.Logger.InfoContext(r.Context(), "transaction accepted", slog.String("id", id),
		slog.String("account", wanted.Account), slog.String("actor", actor(r.Context())))
	w.Header().Set("Location", pathTransactions+"/"+id)
	return answer(w, http.StatusAccepted, accepted{id})
}

func (b wish) parse() (Wish, error) {
	out := Wish{Account: b.Account, Gas: b.Gas, Key: b.Key, Value: new(big.Int)}
	if b.Account == "" {
		return out, &FieldError{"account", "is missing"}
	}
	var err error
	if out.To, err = chain.ParseHex(b.To); err != nil {
		return out, &FieldError{"to", err.Error()}
	}
	if out.Data, err = chain.ParseHex(b.Data); err != nil {
		return out, &FieldError{"data", err.Error()}
	}
	if b.Value != nil {
		if !decimal.MatchString(*b.Value) {
			return out, &FieldError{"value", "is not a text of decimal digits: the chain's smallest unit, 0 or above"}
		}
		if out.Value.SetString(*b.Value, 10); out.Value.BitLen() > 256 {
			return out, &FieldError{"value", "does not fit 256 bits"}
		}
	}
	if len(b.Key) > maxKey || slices.Contains([]byte(b.Key), 0) {
		return out, &FieldError{"idempotency_key", "is not a text of up to 200 bytes"}
	}
	if strings.ContainsRune(b.Key, utf8.RuneError) { // another key may have become this one
		return out, &FieldError{"idempotency_key", "has U+FFFD in it, which stands for what is no character"}
	}
	if b.Gas > 1<<62 {
		return out, &FieldError{"gas", "is more than any chain has"}
	}
	return out, nil
}

var decimal = regexp.MustCompile(`^[0-9]{1,78}$`)

func notAccepted(err error) error {
	if field, ok := errors.AsType[*FieldError](err); ok {
		p := failf(http.StatusUnprocessableEntity, "%v", field).named("bad-field", "Not acceptable")
		p.Field = field.Field
		return p
	}
	switch {
	case errors.Is(err, ErrUnknownAccount):
		p := failf(http.StatusUnprocessableEntity, "account: %v", ErrUnknownAccount).named("unknown-account", "Unknown account")
		p.Field = "account"
		return p
	case errors.Is(err, ErrKeyTaken):
		p := failf(http.StatusConflict, "%v", ErrKeyTaken).named("key-taken", "Key taken")
		p.Field = "idempotency_key"
		return p
	case errors.Is(err, ErrBusy):
		return failf(http.StatusServiceUnavailable, "%v", ErrBusy).named("busy", "Busy").retryAfter(1)
	case errors.Is(err, ErrUnknownTransaction):
		return failf(http.StatusNotFound, "%v", ErrUnknownTransaction).named("unknown-transaction", "Unknown transaction")
	}
	return err
}

type datedTransaction struct {
	asOf
	Transaction
}

func (s *Site) getTransaction(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	at := time.Now()
	t, err := s.look(r, desk)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, datedTransaction{asOf{AsOf: at.UTC()}, t})
}

func (s *Site) look(r *http.Request, desk Transactions) (t Transaction, err error) {
	leave, err := place(s.looks)
	if err != nil {
		return t, err
	}
	defer leave()
	ctx, cancel := s.patient(r)
	defer cancel()
	if t, err = desk.Transaction(ctx, r.PathValue("id")); err != nil {
		err = notAccepted(err)
	}
	return t, err
}

// place takes one of the places of those who may do something at once. Who finds none is
// told to come later. A list may be large: its client keeps the place until it has it all.
func place(places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, notAccepted(ErrBusy)
	}
}

func (s *Site) getTransactions(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	wanted, err := selection(r)
	if err != nil {
		return err
	}
	leave, err := place(s.lists)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.patient(r)
	defer cancel()
	at := time.Now()
	found, err := desk.Transactions(ctx, wanted)
	if err != nil {
		return notAccepted(err)
	}
	return answer(w, http.StatusOK, struct {
		asOf
		Transactions []Transaction `json:"transactions"`
	}{asOf{AsOf: at.UTC()}, append([]Transaction{}, found...)})
}

func selection(r *http.Request) (wanted Selection, err error) {
	q := r.URL.Query()
	wanted = Selection{Account: q.Get("account"), State: q.Get("state"), Fate: q.Get("fate")}
	if wanted.Most, err = limitOf(r); err != nil {
		return wanted, err
	}
	if q.Has("state") && !slices.Contains(States, wanted.State) {
		return wanted, failf(http.StatusBadRequest, "state = %q is none of %v", wanted.State, States)
	}
	if q.Has("fate") && !slices.Contains(Fates, wanted.Fate) {
		return wanted, failf(http.StatusBadRequest, "fate = %q is none of %v", wanted.Fate, Fates)
	}
	return wanted, nil
}

// limitOf is how much a caller wants to have listed.
func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, failf(http.StatusBadRequest, "limit = %q is not a number from 1 to %d", text, maxLimit)
	}
	return limit, nil
}

// cancelTransaction answers with what is known after the request was stored: that it
// is cancelled is true once its fate says so.
func (s *Site) cancelTransaction(w http.ResponseWriter, r *http.Request) error {
	desk, err := s.desk()
	if err != nil {
		return err
	}
	ctx, cancel := s.patient(r)
	defer cancel()
	id := r.PathValue("id")
	if err := desk.Cancel(ctx, id); err != nil {
		return notAccepted(err)
	}
	at := time.Now()
	t, err := desk.Transaction(ctx, id)
	if err != nil {
		return notAccepted(err)
	}
	if t.Fate == "done" || t.Fate == "rejected" {
		return failf(http.StatusConflict, "it is too late: the transaction is %s", t.Fate).named("too-late", "Too late")
	}
	s.cfg.Logger.InfoContext(r.Context(), "transaction to be cancelled", slog.String("id", id), slog.String("actor", actor(r.Context())))
	return answer(w, http.StatusAccepted, datedTransaction{asOf{AsOf: at.UTC()}, t})
}

// patient bounds how long a request may wait for the database.
func (s *Site) patient(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), s.cfg.Patience)
}

func (s *Site) desk() (Transactions, error) {
	if s.cfg.Transactions == nil {
		return nil, failf(http.StatusNotFound, "this node has no accounts: it needs an [[accounts]] in its configuration").named("no-accounts", "No accounts")
	}
	return s.cfg.Transactions, nil
}
