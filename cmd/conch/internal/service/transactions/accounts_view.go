package transactions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

const pathAccounts = "/v1/accounts"

// AccountView is an account as it stands: its rows as the database has them now, and at the chain as an endpoint says now.
type AccountView struct {
	Name      string     `json:"name"`
	Chain     string     `json:"chain"`
	Address   string     `json:"address"`
	Scope     string     `json:"scope"`             // whose leader sends from it
	Leads     bool       `json:"leads"`             // this node sends from it
	Balance   *string    `json:"balance"`           // this and the next three are null while no endpoint says
	Nonce     *uint64    `json:"nonce"`             // the next one, by the chain
	NextNonce *uint64    `json:"next_nonce"`        // that the next transaction gets
	Block     *BlockName `json:"block"`             // as of which
	By        string     `json:"by,omitempty"`      // the endpoint that says so
	Unknown   string     `json:"unknown,omitempty"` // why they are null
	Queued    int        `json:"queued"`
	InFlight  int        `json:"in_flight"`
	InBlock   int        `json:"in_block"`
	Gaps      int        `json:"gaps"`      // of those in flight, nonces without a transaction
	OldestAt  *time.Time `json:"oldest_at"` // null unless something is in no block
	Waits     *Waiting   `json:"waiting_for"`
	Alarms    []Alarm    `json:"alarms"` // null on a node that does not lead it
}

// Alarm is why an account needs somebody.
type Alarm struct {
	Cause  string    `json:"cause"`
	Means  string    `json:"means"`
	Remedy string    `json:"remedy"`
	Since  time.Time `json:"since"`
	Nonce  *uint64   `json:"nonce,omitempty"`
	Intent string    `json:"intent,omitempty"`
	Error  string    `json:"error,omitempty"` // other people's words
}

// alarms returns those of an account that this node leads.
func (ts *transactions) alarms(id accountID) []Alarm {
	all := []Alarm{}
	for _, r := range ts.alarmsOf(id) {
		one := Alarm{Cause: r.Cause.String(), Means: meaning[r.Cause], Remedy: remedy[r.Cause], Since: r.since.UTC(), Error: fmt.Sprintf(harmless, cli.Inert(r.Why))}
		if !r.Whole {
			one.Nonce = &r.Index
		}
		if r.Intent != (pending.ID{}) {
			one.Intent = idText(r.Intent)
		}
		all = append(all, one)
	}
	return all
}

// standings finds out how accounts stand at their chains. It keeps nothing: what was is not shown as what is.
type standings struct {
	ask    func(ctx context.Context, c Chain, accounts []chain.Account) ([]chain.AccountState, error)
	places chan struct{}
}

func newStandings(ask func(context.Context, Chain, []chain.Account) ([]chain.AccountState, error)) *standings {
	return &standings{ask: ask, places: make(chan struct{}, mostFinds)}
}

// of returns how accounts of one chain stand.
func (s *standings) of(ctx context.Context, c Chain, accounts []chain.Account) ([]chain.AccountState, error) {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errFinds
	}
	all, err := s.ask(ctx, c, accounts)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errSilent
	}
	return all, err
}

// view returns accounts as they stand. What a chain does not say in time is null; the error is one of the database.
func (ts *transactions) view(ctx context.Context, accounts []Account) ([]AccountView, error) {
	all, byChain := make([]AccountView, len(accounts)), map[Chain][]int{}
	for i, a := range accounts {
		byChain[a.Chain] = append(byChain[a.Chain], i)
		all[i] = AccountView{Name: a.Name, Chain: a.Chain.ID(), Address: a.Address.String(), Scope: a.Scope, Leads: ts.managers.leads(a.id())}
		if all[i].Leads {
			all[i].Alarms = ts.alarms(a.id())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for c, at := range byChain {
		asking.Go(func() { ts.stand(ctx, c, accounts, all, at) })
	}
	next := make([]uint64, len(accounts))
	for i, a := range accounts {
		kept := ts.accounts.store(a.Chain)
		if kept == nil {
			continue // a reload is under way
		}
		b, err := kept.Backlog(ctx, a.Address)
		if err != nil {
			return nil, err
		}
		next[i] = b.Next
		all[i].Queued, all[i].InFlight, all[i].InBlock, all[i].Gaps, all[i].Waits = b.Queued, b.InFlight, b.InBlock, b.Gaps, held(b)
		if !b.Oldest.IsZero() {
			all[i].OldestAt = new(b.Oldest.UTC())
		}
	}
	asking.Wait()
	for i := range all {
		if n := all[i].Nonce; n != nil {
			all[i].NextNonce = new(max(*n, next[i]))
		}
	}
	return all, nil
}

// stand fills in how the accounts at some positions, which are of one chain, stand there.
func (ts *transactions) stand(ctx context.Context, c Chain, accounts []Account, all []AccountView, at []int) {
	var addresses []chain.Account
	for _, i := range at {
		addresses = append(addresses, accounts[i].Address)
	}
	states, err := ts.standings.of(ctx, c, addresses)
	for n, i := range at {
		if err != nil {
			all[i].Unknown = fmt.Sprintf(harmless, cli.Inert(err.Error()))
			continue
		}
		one := states[n]
		all[i].Balance, all[i].Nonce, all[i].By = amount(one.Balance), &one.Next, one.By
		all[i].Block = &BlockName{Number: one.Block.Number, Hash: one.Block.Hash.String()}
	}
}

// held says why no transaction of an account gets a nonce, nil if nothing is known to be in the way.
func held(b pending.Backlog) *Waiting {
	if b.Hold.Why == "" {
		return nil
	}
	return waitingForNonce(pending.Record{Hold: b.Hold, HoldSince: b.HoldSince})
}

// accountStates asks a chain how accounts stand.
func (s *service) accountStates(ctx context.Context, c Chain, accounts []chain.Account) ([]chain.AccountState, error) {
	shared, release, err := s.chains.acquire(c, s.connect)
	if err != nil {
		return nil, err
	}
	defer release()
	return shared.driver.AccountStates(ctx, accounts)
}

func (a *api) getAccounts(w http.ResponseWriter, r *http.Request) error {
	at, all, err := a.viewed(r, a.transactions.accounts.all())
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf     time.Time     `json:"as_of"`
		Accounts []AccountView `json:"accounts"`
	}{at, all})
}

func (a *api) getAccount(w http.ResponseWriter, r *http.Request) error {
	one, _, known := a.transactions.accounts.find(r.PathValue("account"))
	if !known {
		return web.Failf(http.StatusNotFound, "%v", errUnknownAccount).Named("unknown-account", "Unknown account")
	}
	at, all, err := a.viewed(r, []Account{one})
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf time.Time `json:"as_of"`
		AccountView
	}{at, all[0]})
}

// viewed returns accounts as they stand at an instant.
func (a *api) viewed(r *http.Request, accounts []Account) (at time.Time, all []AccountView, err error) {
	leave, err := place(a.lists)
	if err != nil {
		return at, nil, err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	at = time.Now().UTC()
	if all, err = a.transactions.view(ctx, accounts); err != nil {
		err = notAccepted(err)
	}
	return at, all, err
}
