package transactions

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pattern"
	"github.com/conchhq/conch/pending"
)

// maxCall is the largest body of a request, in bytes: a call of 128 KiB, more than common
// nodes take, in hexadecimal digits.
const maxCall = 300 << 10

const pathTransactions = "/v1/transactions"

const (
	mostLists   = 8               // lists of transactions answered at a time
	mostLooks   = 64              // single transactions looked up at a time
	webPatience = 5 * time.Second // how long one request waits for the database
)

// api serves transactions over HTTP.
type api struct {
	transactions *transactions
	log          *slog.Logger
	lists        chan struct{} // has an element for each list being answered
	looks        chan struct{} // has an element for each transaction being looked up
	lookups      chan struct{} // likewise, for requests that wait
	batches      chan struct{} // has an element for each batch being taken
	news         *news
	webhooks     *webhooks
	series       *series
	over         context.Context // ends with the node
	patience     time.Duration   // how long one request waits for the database
}

func newAPI(s *service, log *slog.Logger) *api {
	a := &api{
		transactions: s.transactions, log: log, news: s.news, webhooks: s.webhooks, series: s.series, over: s.frame.Over, patience: webPatience,
		lists: make(chan struct{}, mostLists), looks: make(chan struct{}, mostLooks), lookups: make(chan struct{}, mostLookups), batches: make(chan struct{}, mostBatches),
	}
	if a.over == nil {
		a.over = context.Background()
	}
	return a
}

func (a *api) routes() []web.Route {
	const one = pathTransactions + "/{id}"
	return append(a.webhookRoutes(), []web.Route{
		{Method: http.MethodPost, Path: pathTransactions, Needs: web.ToOperate, Query: []string{"dry_run"}, Body: maxCall, Keyed: true, Serve: a.postTransaction},
		{Method: http.MethodPost, Path: pathBatch, Needs: web.ToOperate, Body: maxBatch, Serve: a.postBatch},
		{Method: http.MethodGet, Path: pathTransactions, Query: []string{"account", "state", "fate", "key", "hash", "nonce", "to", "since", "until", "cursor", "limit"}, Serve: a.getTransactions},
		{Method: http.MethodGet, Path: one, Query: []string{"wait", "until", "version"}, Serve: a.getTransaction},
		{Method: http.MethodGet, Path: one + "/attempts", Serve: a.getAttempts},
		{Method: http.MethodPost, Path: one + "/cancel", Needs: web.ToOperate, Serve: a.cancelTransaction},
		{Method: http.MethodGet, Path: pathSeries, Query: []string{"name", "account", "since"}, Serve: a.getSeries},
		{Method: http.MethodGet, Path: pathAccounts, Serve: a.getAccounts},
		{Method: http.MethodGet, Path: pathPolicies, Serve: a.getPolicies},
		{Method: http.MethodGet, Path: pathAccounts + "/{account}", Serve: a.getAccount},
		{Method: http.MethodGet, Path: pathAccounts + "/{account}/life", Serve: a.getLife},
		{Method: http.MethodPost, Path: pathAccounts + "/{account}/life", Needs: web.ToOperate, Body: maxWord, Serve: a.postLife},
	}...)
}

// requestBody is the body of POST /v1/transactions, which conch tx send writes.
type requestBody struct {
	Account string  `json:"account"`
	To      string  `json:"to,omitempty"`
	Value   *string `json:"value"`
	Data    string  `json:"data,omitempty"`
	Gas     uint64  `json:"gas,omitempty"`
	Key     string  `json:"idempotency_key"`

	Function   string            `json:"function,omitempty"`
	Args       []json.RawMessage `json:"args,omitempty"`
	Speed      string            `json:"speed,omitempty"`
	MaxFee     string            `json:"max_fee,omitempty"`
	ValidUntil string            `json:"valid_until,omitempty"`
	LastBlock  uint64            `json:"last_block,omitempty"`
}

func (a *api) postTransaction(w http.ResponseWriter, r *http.Request) error {
	var body requestBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	if err := web.Key(r, "idempotency_key", &body.Key); err != nil {
		return err
	}
	in, err := body.parse()
	if err != nil {
		return notAccepted(err)
	}
	if dry, err := isDry(r); err != nil || dry {
		if err == nil {
			err = a.dryRun(w, r, body.Account, in)
		}
		return err
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	id, err := a.transactions.accept(ctx, web.Token(ctx), body.Account, in)
	if err != nil {
		return notAccepted(err)
	}
	a.log.InfoContext(r.Context(), "transaction accepted", slog.String("id", id),
		slog.String("account", body.Account), slog.String("actor", web.Actor(r.Context())))
	return web.Accepted(w, pathTransactions, id)
}

// parse returns the intent, but for its account and what the node says of it.
func (b requestBody) parse() (pending.Intent, error) {
	out := pending.Intent{Key: b.Key, Call: chain.Call{Gas: b.Gas, Value: new(big.Int)}}
	if b.Account == "" {
		return out, &web.FieldError{Field: "account", Text: "is missing"}
	}
	var err error
	if b.To != "" {
		to, err := evm.ParseAddress(b.To)
		if err != nil {
			return out, &web.FieldError{Field: "to", Text: err.Error()}
		}
		out.Call.To = []byte(to)
	}
	if out.Call.Data, err = chain.ParseHex(b.Data); err != nil {
		return out, &web.FieldError{Field: "data", Text: err.Error()}
	}
	if b.Value != nil {
		if !decimal().MatchString(*b.Value) {
			return out, &web.FieldError{Field: "value", Text: "is not a text of decimal digits: write an amount of 0 or more in the chain's smallest unit"}
		}
		if out.Call.Value.SetString(*b.Value, 10); out.Call.Value.BitLen() > 256 {
			return out, &web.FieldError{Field: "value", Text: "does not fit 256 bits"}
		}
	}
	if strings.HasPrefix(b.Key, reserved) {
		return out, &web.FieldError{Field: "idempotency_key", Text: "begins with " + reserved + ", as the keys of conch's own transactions do: choose another one"}
	}
	if b.Gas > 1<<62 {
		return out, &web.FieldError{Field: "gas", Text: "is more than any chain allows"}
	}
	if err := b.wishes(&out, time.Now()); err != nil {
		return out, err
	}
	return out, web.CheckKey(b.Key)
}

var decimal = pattern.Of(`^[0-9]{1,78}$`)

func notAccepted(err error) error {
	if field, ok := errors.AsType[*web.FieldError](err); ok {
		return field.Problem(http.StatusUnprocessableEntity)
	}
	switch {
	case errors.Is(err, errUnknownAccount):
		return web.Failf(http.StatusUnprocessableEntity, "account: %v", errUnknownAccount).Named("unknown-account", "Unknown account").About("account")
	case errors.Is(err, errKeyTaken):
		return web.Failf(http.StatusConflict, "%v", errKeyTaken).Named("key-taken", "Key taken").About("idempotency_key")
	case errors.Is(err, errBusy):
		return web.Failf(http.StatusServiceUnavailable, "%v", errBusy).Named("busy", "Busy").RetryAfter(1)
	case errors.Is(err, errUnknown):
		return web.Failf(http.StatusNotFound, "%v", errUnknown).Named("unknown-transaction", "Unknown transaction")
	}
	return err
}

func (a *api) getTransaction(w http.ResponseWriter, r *http.Request) error {
	p, err := asked(r)
	if err != nil {
		return err
	}
	d := dated{at: time.Now()}
	if p.wait > 0 {
		d, err = a.await(w, r, p)
	} else {
		d.Transaction, err = a.look(r)
	}
	if err != nil {
		return err
	}
	out, err := a.detail(r, d.Transaction, d.at)
	if err != nil {
		return err
	}
	a.transactions.explain(r.Context(), &out)
	return web.Answer(w, http.StatusOK, out)
}

func (a *api) look(r *http.Request) (t Transaction, err error) {
	leave, err := place(a.looks)
	if err != nil {
		return t, err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	if t, err = a.transactions.get(ctx, r.PathValue("id")); err != nil {
		err = notAccepted(err)
	}
	return t, err
}

func (a *api) detail(r *http.Request, t Transaction, at time.Time) (Detailed, error) {
	ctx, cancel := a.patient(r)
	defer cancel()
	d, err := a.transactions.detail(ctx, t, at)
	if err != nil {
		err = notAccepted(err)
	}
	return d, err
}

// place takes a place among requests of one kind, or returns errBusy if there is none. A client
// keeps its place until it has the whole answer.
func place(places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, notAccepted(errBusy)
	}
}

// cancelTransaction stores the cancellation and answers with the transaction as it is then. It is
// cancelled once its fate says so.
func (a *api) cancelTransaction(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := a.patient(r)
	defer cancel()
	id := r.PathValue("id")
	if err := a.transactions.cancel(ctx, web.Token(ctx), id); err != nil {
		return notAccepted(err)
	}
	at := time.Now()
	t, err := a.transactions.get(ctx, id)
	if err != nil {
		return notAccepted(err)
	}
	if t.Fate == "done" || t.Fate == "rejected" || t.Fate == "expired" {
		return web.Failf(http.StatusConflict, "it is too late to cancel: the transaction is %s", t.Fate).Named("too-late", "Too late")
	}
	a.log.InfoContext(r.Context(), "cancellation accepted", slog.String("id", id), slog.String("actor", web.Actor(r.Context())))
	out, err := a.detail(r, t, at)
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusAccepted, out)
}

// patient bounds how long a request may wait for the database.
func (a *api) patient(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), a.patience)
}
