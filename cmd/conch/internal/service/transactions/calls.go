package transactions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/pending"
)

// space is that of the calls of other services. Their keys begin with reserved besides, for people who read a list; so no user may name
// such a key.
const (
	space    = "conch"
	reserved = space + ":"
)

// calls has another service's calls sent from an account.
type calls struct {
	account Account
	kept    store
	news    *news
}

// Accept implements node.Calls.
func (c calls) Accept(ctx context.Context, key string, call chain.Call, last uint64) (id string, err error) {
	in, err := c.kept.Accept(ctx, pending.Intent{Account: c.account.Address, Space: space, Key: reserved + key, Call: call, LastBlock: last})
	if errors.Is(err, pending.ErrConflict) {
		return "", fmt.Errorf("%w: %q", errKeyTaken, reserved+key)
	}
	return idText(in.ID), err
}

// UnderWay implements node.Calls.
func (c calls) UnderWay(ctx context.Context, to []byte) (all []node.Accepted, err error) {
	found, err := c.kept.Unfinished(ctx, c.account.Address, space, to)
	for _, r := range found {
		one := node.Accepted{
			ID: idText(r.ID), Key: strings.TrimPrefix(r.Key, reserved), Call: r.Call, Signed: r.Index != nil,
			Included: r.Index != nil && (r.Last.Status == pending.InBlock || r.Last.Status == pending.FinalityTimeout),
		}
		if inTheWay(r) {
			one.Waits = fmt.Sprintf("account %q: %s", c.account.Name, waitingFor(r).Reason)
		}
		all = append(all, one)
	}
	return all, err
}

// inTheWay reports whether it is known that something keeps a transaction that has not ended.
func inTheWay(r pending.Record) bool {
	return r.Last.Waits != "" || r.Hold.Why != "" || r.Refusal.Times > 0
}

// Lost implements node.Calls. A transaction whose row somebody has deleted is lost.
func (c calls) Lost(ctx context.Context, id string) (is bool, why string, err error) {
	known, err := parseID(id)
	if err != nil {
		return false, "", err
	}
	r, err := c.kept.Get(ctx, known)
	switch {
	case errors.Is(err, pending.ErrNotFound):
		return true, "its row is gone", nil
	case err != nil:
		return false, "", err
	case r.Fate == pending.Cancelled:
		why = "was cancelled"
	case r.Fate == pending.Expired:
		why = "had no nonce when its last block came"
	case r.Fate == pending.Rejected:
		why = "was rejected: " + r.Why
	case r.Fate == pending.Done && r.Last.Effect.Failed():
		why = "had no effect: the chain ended its call with an error"
	default:
		return false, "", nil
	}
	return true, fmt.Sprintf("account %q: transaction %s %s", c.account.Name, id, why), nil
}

// Withdraw implements node.Calls.
func (c calls) Withdraw(ctx context.Context, id string) error {
	known, err := parseID(id)
	if err != nil {
		return err
	}
	return c.kept.Cancel(ctx, known)
}

// Heed implements node.Calls.
func (c calls) Heed(told func(id string)) (leave func()) {
	return c.news.heed(c.account.id(), func(e pending.Event) {
		if outcome := e.Outcome(); outcome != "" && outcome != pending.Succeeded {
			told(idText(e.Intent))
		}
	})
}

// Forget implements node.Calls.
func (c calls) Forget(ctx context.Context, age time.Duration, most int) (gone int, err error) {
	if f, can := c.kept.(forgetter); can {
		return f.Forget(ctx, c.account.Address, age, most)
	}
	return 0, nil // it is kept in memory, and gone with the process
}

// forgetter is a store that can delete conch's own intents.
type forgetter interface {
	Forget(ctx context.Context, account chain.Account, age time.Duration, most int) (gone int, err error)
}
