package contracts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	chainevm "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	pathContracts    = "/v1/contracts"
	pathContract     = pathContracts + "/{address}"
	pathTransactions = pathContract + "/transactions"
	pathTransaction  = pathTransactions + "/{id}"

	maxRequest  = 300 << 10       // bytes of a body
	webPatience = 5 * time.Second // how long one request waits for the node and its database
)

// running is the node of this process, while there is one.
type running interface { //nolint:interfacebloat // what a caller may ask for
	Submit(ctx context.Context, contract, key string, request []byte, deadline uint64) (ledger.Sequence, error)
	Cancel(ctx context.Context, contract string, s ledger.Sequence) error
	Drain(ctx context.Context, contract string, on bool) error
	Story(ctx context.Context, contract string, s ledger.Sequence) ([]sequencer.Moment, error)
	Status(ctx context.Context, contract string) (sequencer.Status, error)
	Look(ctx context.Context, contract string) (sequencer.Status, error)
	List(ctx context.Context, contract string, f sequencer.Filter) ([]sequencer.Found, error)
}

// declared is a contract with what this node calls its chain.
type declared struct {
	ledger.Contract

	chainName string
}

// office knows the node and its contracts.
type office interface {
	// Contracts returns the configured contracts, sorted by address, the node's own account, and the members' names.
	Contracts() (all []declared, self ledger.Account, n names)
	// Node returns nil unless the node runs in this process.
	Node() running
}

// api serves contracts over HTTP.
type api struct {
	office   office
	log      *slog.Logger
	patience time.Duration
}

func newAPI(o office, log *slog.Logger) *api { return &api{office: o, log: log, patience: webPatience} }

func (a *api) routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: pathContracts, Serve: a.getContracts},
		{Method: http.MethodGet, Path: pathContract, Serve: a.about(a.getContract)},
		{Method: http.MethodPost, Path: pathContract + "/drain", Needs: web.ToOperate, Serve: a.about(a.drain(true))},
		{Method: http.MethodPost, Path: pathContract + "/undrain", Needs: web.ToOperate, Serve: a.about(a.drain(false))},
		{Method: http.MethodPost, Path: pathTransactions, Needs: web.ToOperate, Body: maxRequest, Keyed: true, Serve: a.about(a.postTransaction)},
		{Method: http.MethodGet, Path: pathTransactions, Query: []string{"limit", "before"}, Serve: a.about(a.getTransactions)},
		{Method: http.MethodGet, Path: pathTransaction, Serve: a.about(a.getTransaction)},
		{Method: http.MethodPost, Path: pathTransaction + "/cancel", Needs: web.ToOperate, Serve: a.about(a.cancelTransaction)},
	}
}

// node returns the node of this process.
func (a *api) node() (running, error) {
	if n := a.office.Node(); n != nil {
		return n, nil
	}
	return nil, web.Failf(http.StatusServiceUnavailable, "this process does not run the contracts' node now, and has stored nothing: ask the one that leads it (GET /v1/scopes says which)").
		Named("not-leading", "Not leading").RetryAfter(1)
}

// about serves what is about one contract, if this process runs the node.
func (a *api) about(serve func(w http.ResponseWriter, r *http.Request, node running, d declared) error) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		d, err := a.contract(r)
		if err != nil {
			return err
		}
		node, err := a.node()
		if err != nil {
			return err
		}
		return serve(w, r, node, d)
	}
}

// patient bounds how long a request may wait for the node.
func (a *api) patient(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), a.patience)
}

// contract returns the one that a request names, in any case of letters.
func (a *api) contract(r *http.Request) (declared, error) { return a.find(r.PathValue("address")) }

func (a *api) find(address string) (declared, error) {
	all, _, _ := a.office.Contracts()
	if at := slices.IndexFunc(all, func(d declared) bool { return strings.EqualFold(d.Address, address) }); at >= 0 {
		if _, err := chainevm.ParseAddress(address); errors.Is(err, chainevm.ErrChecksum) {
			return declared{}, (&web.FieldError{Field: "address", Text: err.Error()}).Problem(http.StatusUnprocessableEntity)
		}
		return all[at], nil
	}
	return declared{}, unknownContract(address)
}

func unknownContract(address string) error {
	return web.Failf(http.StatusNotFound, "this node has no contract %q: GET %s lists those of its configuration", address, pathContracts).
		Named("unknown-contract", "Unknown contract")
}

func (a *api) getContracts(w http.ResponseWriter, r *http.Request) error {
	node, err := a.node()
	if err != nil {
		return err
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	all, self, n := a.office.Contracts()
	found := []Contract{}
	for _, d := range all {
		s, err := node.Look(ctx, d.Address) // one that cannot be read hides no other, and a list wakes none
		if err != nil {
			return refusal(r, err)
		}
		found = append(found, contractOf(d.Contract, d.chainName, s, self, n, time.Now()))
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf      time.Time  `json:"as_of"`
		Contracts []Contract `json:"contracts"`
	}{time.Now().UTC(), found})
}

// drain has the node coordinate a contract no more, or again, and answers as getContract does.
func (a *api) drain(on bool) func(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	return func(w http.ResponseWriter, r *http.Request, node running, d declared) error {
		ctx, cancel := a.patient(r)
		defer cancel()
		if err := node.Drain(ctx, d.Address, on); err != nil {
			return refusal(r, err)
		}
		said := map[bool]string{true: "the node coordinates a contract no more", false: "the node coordinates a contract again"}[on]
		a.log.InfoContext(r.Context(), said, slog.String("contract", d.Address), slog.String("actor", web.Actor(r.Context())))
		return a.getContract(w, r, node, d)
	}
}

func (a *api) getContract(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	ctx, cancel := a.patient(r)
	defer cancel()
	s, err := node.Status(ctx, d.Address)
	if err != nil {
		return refusal(r, err)
	}
	_, self, n := a.office.Contracts()
	return web.Answer(w, http.StatusOK, contractOf(d.Contract, d.chainName, s, self, n, time.Now()))
}

// requestBody is the body of POST …/transactions. It asks a node to carry something out, once for all requests with the same key.
type requestBody struct {
	Request  json.RawMessage `json:"request"`
	Key      string          `json:"idempotency_key"`
	Deadline uint64          `json:"deadline,omitempty"`
}

func (b requestBody) check() error {
	if len(b.Request) == 0 {
		return &web.FieldError{Field: "request", Text: "is missing: write what the domain of the contract takes"}
	}
	return web.CheckKey(b.Key)
}

func (a *api) postTransaction(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	var body requestBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	if err := web.Key(r, "idempotency_key", &body.Key); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return refusal(r, err)
	}
	if body.Key == "" {
		body.Key = "api-" + rand.Text()
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	s, err := node.Submit(ctx, d.Address, body.Key, body.Request, body.Deadline)
	if err != nil {
		return refusal(r, err)
	}
	id := idOf(s)
	a.log.InfoContext(r.Context(), "intent accepted", slog.String("contract", d.Address), slog.String("id", id), slog.String("actor", web.Actor(r.Context())))
	return web.Accepted(w, pathContracts+"/"+d.Address+"/transactions", id)
}

func (a *api) getTransactions(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	var f sequencer.Filter
	var err error
	if f.Most, err = web.Limit(r); err != nil {
		return err
	}
	if text := r.URL.Query().Get("before"); text != "" {
		if f.Before, err = strconv.ParseUint(text, 10, 63); err != nil || f.Before == 0 {
			return web.Failf(http.StatusBadRequest, "before = %q is no cursor: take next_before of an answer", text).Wrong("before")
		}
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	now := time.Now()
	found, err := node.List(ctx, d.Address, f)
	if err != nil {
		return refusal(r, err)
	}
	all := make([]Transaction, 0, len(found))
	next := uint64(0)
	for _, one := range found {
		all = append(all, transactionOf(d.Address, one))
	}
	if len(found) == f.Most {
		next = found[len(found)-1].Number
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf         time.Time     `json:"as_of"`
		Transactions []Transaction `json:"transactions"`
		Next         uint64        `json:"next_before,omitempty"`
	}{now.UTC(), all, next})
}

// look finds the transaction that a request names.
func look(ctx context.Context, r *http.Request, node running, d declared) (f sequencer.Found, err error) {
	id := r.PathValue("id")
	unknown := web.Failf(http.StatusNotFound, "no transaction of this node's users has the id %q: GET %s/%s/transactions lists them", id, pathContracts, d.Address).
		Named("unknown-transaction", "Unknown transaction")
	s, is := sequenceOf(id)
	if !is {
		return f, unknown
	}
	found, err := node.List(ctx, d.Address, sequencer.Filter{Sequence: s, Most: 1})
	if err != nil {
		return f, refusal(r, err)
	}
	if len(found) == 0 {
		return f, unknown
	}
	return found[0], nil
}

func (a *api) getTransaction(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	ctx, cancel := a.patient(r)
	defer cancel()
	now := time.Now()
	f, err := look(ctx, r, node, d)
	if err != nil {
		return err
	}
	return a.tell(ctx, w, r, http.StatusOK, node, Told{AsOf: now.UTC(), Transaction: transactionOf(d.Address, f)}, f.Sequence)
}

// tell answers with a transaction and its story.
func (a *api) tell(ctx context.Context, w http.ResponseWriter, r *http.Request, status int, node running, t Told, s ledger.Sequence) error {
	moments, err := node.Story(ctx, t.Contract, s)
	if err != nil {
		return refusal(r, err)
	}
	_, _, n := a.office.Contracts()
	t.Story = storyOf(moments, n)
	t.Why = t.waitsFor()
	return web.Answer(w, status, t)
}

// cancelTransaction gives an intent up. It is over once its fate says so: what was granted may still land.
func (a *api) cancelTransaction(w http.ResponseWriter, r *http.Request, node running, d declared) error {
	ctx, cancel := a.patient(r)
	defer cancel()
	now := time.Now()
	f, err := look(ctx, r, node, d)
	if err != nil {
		return err
	}
	if f.Ended {
		return web.Failf(http.StatusConflict, "it is too late to cancel: the transaction is %s", transactionOf(d.Address, f).Fate).Named("too-late", "Too late")
	}
	if err := node.Cancel(ctx, d.Address, f.Sequence); err != nil {
		return refusal(r, err)
	}
	a.log.InfoContext(r.Context(), "cancellation accepted", slog.String("contract", d.Address), slog.String("id", idOf(f.Sequence)), slog.String("actor", web.Actor(r.Context())))
	return a.tell(ctx, w, r, http.StatusAccepted, node, Told{AsOf: now.UTC(), Transaction: transactionOf(d.Address, f)}, f.Sequence)
}
