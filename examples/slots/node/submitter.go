package main

import (
	"context"
	"errors"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/sequencer/evm"
)

// own is the space of the keys of the ledger's calls. The account has others too: the deployment.
const own = "ledger"

// Submit implements evm.Submitter.
func (o *organisation) Submit(ctx context.Context, key string, call chain.Call, last uint64) (id string, err error) {
	in, err := o.accept(ctx, pending.Intent{Space: own, Key: key, Call: call, LastBlock: last})
	return string(in.ID[:]), err
}

// UnderWay implements evm.Submitter.
func (o *organisation) UnderWay(ctx context.Context, to []byte) (all []evm.Submitted, err error) {
	found, err := o.queue.Unfinished(ctx, o.key.Account(), own, to)
	for _, r := range found {
		one := evm.Submitted{ID: string(r.ID[:]), Key: r.Key, Call: r.Call, Waits: r.Last.Waits}
		switch {
		case r.Index == nil: // it is queued
		case r.Last.Status == pending.InBlock || r.Last.Status == pending.FinalityTimeout:
			one.Stage = evm.Included
		default:
			one.Stage = evm.Signed
		}
		all = append(all, one)
	}
	return all, err
}

// Lost implements evm.Submitter.
func (o *organisation) Lost(ctx context.Context, id string) (is bool, why string, err error) {
	r, err := o.queue.Get(ctx, pending.ID([]byte(id)))
	switch {
	case errors.Is(err, pending.ErrNotFound):
		return true, "its row is gone", nil
	case err != nil:
		return false, "", err
	}
	is = r.Fate == pending.Cancelled || r.Fate == pending.Rejected || r.Fate == pending.Expired || r.Fate == pending.Done && r.Last.Effect.Failed()
	return is, r.Why, nil
}

// Withdraw implements evm.Submitter.
func (o *organisation) Withdraw(ctx context.Context, id string) error {
	return o.queue.Cancel(ctx, pending.ID([]byte(id)))
}

// Heed implements evm.Submitter. It tells nothing: what is lost is found at the next look, each five seconds.
func (*organisation) Heed(func(id string)) (leave func()) { return func() {} }
