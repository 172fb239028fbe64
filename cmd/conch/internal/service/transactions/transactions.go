package transactions

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// transactions accepts, shows and cancels the transactions of a node's accounts, whichever node leads
// their account. Errors other than those of transaction.go come from the database.
type transactions struct {
	node     string // its ID
	accounts *accounts
	managers *managers
	reasons  *findings[Revert]
	receipts *findings[witnessed]

	standings *standings
	quotes    *quotes
	policies  *policies
	alarmsOf  func(accountID) []raisedAlarm // of one that this node leads
	lives     func(context.Context, Chain) (bool, error)
}

// accept stores an intent of the account with a name or address, and returns its ID. The same call with the same key
// again returns the ID of the first. token is the caller's; empty: no tokens are configured.
func (ts *transactions) accept(ctx context.Context, token, account string, in pending.Intent) (string, error) {
	a, store, err := ts.checked(ctx, token, account, &in)
	if err != nil {
		return "", err
	}
	asked := in.Token
	in, err = ts.policies.accept(ctx, token, a, store, in)
	if err == nil && in.Token != asked {
		err = ts.ofAnother(ctx, token, a.Chain.ID(), store)
	}
	if err != nil {
		return "", stored(err)
	}
	ts.managers.wake(a.Chain.ID(), a.Address)
	return idText(in.ID), nil
}

// stored returns the error of a store in the words for callers.
func stored(err error) error {
	switch {
	case errors.Is(err, pending.ErrConflict):
		return errKeyTaken
	case errors.Is(err, pending.ErrBusy):
		return errBusy
	}
	return err
}

// checked returns the account with a name or address, and completes an intent for it, or says what is wrong with that.
func (ts *transactions) checked(ctx context.Context, token, account string, in *pending.Intent) (a Account, kept store, err error) {
	a, kept, known := ts.accounts.find(account)
	if !known {
		return a, nil, unknownAccount(account)
	}
	call := in.Call
	if len(call.To) == 0 && len(call.Data) == 0 {
		return a, nil, &web.FieldError{Field: "to", Text: "is missing, and there is no data either: without to, data has to be the code of a contract to create"}
	}
	if err := evm.Oversize(call); err != nil {
		return a, nil, &web.FieldError{Field: "data", Text: err.Error()}
	}
	if least := evm.LeastGas(call); call.Gas > 0 && call.Gas < least {
		return a, nil, &web.FieldError{Field: "gas", Text: fmt.Sprintf("is below %d, the least that this call needs: raise it, or leave it out to have it estimated", least)}
	}
	in.Account, in.Creator, in.Token = a.Address, ts.node, storedName(token)
	return a, kept, overdue(ctx, kept, *in)
}

// unknownAccount returns the error for an account that this node does not have, or whose address is mistyped.
func unknownAccount(name string) error {
	if _, err := evm.ParseAddress(name); errors.Is(err, evm.ErrChecksum) {
		return &web.FieldError{Field: "account", Text: err.Error()}
	}
	return errUnknownAccount
}

// get returns a transaction that the caller of a request may see. For any other it is as if there were none.
func (ts *transactions) get(ctx context.Context, text string) (Transaction, error) {
	id, err := parseID(text)
	if err != nil {
		return Transaction{}, err
	}
	for _, b := range ts.accounts.chainStores() {
		r, err := b.Get(ctx, id)
		if errors.Is(err, pending.ErrNotFound) {
			continue
		}
		if err == nil {
			err = ts.sees(ctx, web.Token(ctx), b.id, r.Token)
		}
		if err != nil {
			return Transaction{}, err
		}
		return ts.show(b.id, r), nil
	}
	return Transaction{}, errUnknown
}

// cancel asks to cancel a transaction, which may be too late. token is as in accept.
func (ts *transactions) cancel(ctx context.Context, token, text string) error {
	id, err := parseID(text)
	if err != nil {
		return err
	}
	for _, b := range ts.accounts.chainStores() {
		if err := ts.mayCancel(ctx, token, b, id); err != nil {
			return err
		}
		if err := b.Cancel(ctx, id); !errors.Is(err, pending.ErrNotFound) {
			ts.managers.wakeAll()
			return err
		}
	}
	return errUnknown
}

// mayCancel returns nil too if the chain has no such transaction.
func (ts *transactions) mayCancel(ctx context.Context, token string, b chainStore, id pending.ID) error {
	if token == "" {
		return nil
	}
	r, err := b.Get(ctx, id)
	if errors.Is(err, pending.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = ts.sees(ctx, token, b.id, r.Token)
	}
	if err != nil {
		return err
	}
	return ts.policies.mayCancel(ctx, token, b.id, ts.accounts.at(accountID{b.id, r.Account}), b.store)
}

func (ts *transactions) show(id string, r pending.Record) Transaction {
	t := Transaction{
		ID: idText(r.ID), Version: r.Version, Account: ts.accounts.nameOf(accountID{id, r.Account}), Chain: id, Address: r.Account.String(),
		Value: "0", Data: "0x" + hex.EncodeToString(r.Call.Data), Gas: r.Call.Gas, Key: r.Key, Fate: r.Standing(), Why: r.Why,
		Cancelling: r.Cancel && r.Fate == pending.Open, WaitingFor: waitingFor(r), Witnesses: witnesses(r), Failed: r.Last.Effect.Failed(), Creator: r.Creator, CreatedAt: r.Created.UTC(), Said: saidOf(r.Intent), record: r,
	}
	if outcome := r.Outcome(); outcome != "" {
		t.Outcome = &outcome
	}
	if len(r.Call.To) > 0 {
		t.To = "0x" + hex.EncodeToString(r.Call.To)
	}
	if r.Call.Value != nil {
		t.Value = r.Call.Value.String()
	}
	if r.Index != nil {
		t.Nonce, t.State = new(*r.Index-r.First), new(r.Last.Status.String())
	}
	if r.Index != nil && !r.Changed.IsZero() {
		t.ChangedAt = new(r.Changed.UTC())
	}
	if r.Last.Hash != "" {
		t.Hash = new(r.Last.Hash.String())
	}
	if r.Last.Block.Hash != "" {
		t.Block, t.Effect = &BlockName{Number: r.Last.Block.Number, Hash: r.Last.Block.Hash.String()}, new(r.Last.Effect.String())
	}
	return t
}

// idText writes an ID as a UUID, as a term is written.
func idText(id pending.ID) string { return fence.Term(id).String() }

// parseID reads a UUID. Any other text is the ID of no transaction.
func parseID(text string) (pending.ID, error) {
	id, err := fence.ParseTerm(text)
	if err != nil {
		return pending.ID{}, errUnknown
	}
	return pending.ID(id), nil
}
