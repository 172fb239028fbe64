package contracts

import (
	"context"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/sequencer/evm"
)

// submitter hands calls to the account's queue.
type submitter struct{ calls node.Calls }

var _ evm.Submitter = submitter{}

// Submit implements evm.Submitter.
func (s submitter) Submit(ctx context.Context, key string, call chain.Call, last uint64) (id string, err error) {
	return s.calls.Accept(ctx, key, call, last)
}

// UnderWay implements evm.Submitter.
func (s submitter) UnderWay(ctx context.Context, to []byte) (all []evm.Submitted, err error) {
	found, err := s.calls.UnderWay(ctx, to)
	for _, f := range found {
		one := evm.Submitted{ID: f.ID, Key: f.Key, Call: f.Call, Waits: f.Waits}
		switch {
		case f.Included:
			one.Stage = evm.Included
		case f.Signed:
			one.Stage = evm.Signed
		}
		all = append(all, one)
	}
	return all, err
}

// Lost implements evm.Submitter.
func (s submitter) Lost(ctx context.Context, id string) (is bool, why string, err error) {
	return s.calls.Lost(ctx, id)
}

// Heed implements evm.Submitter.
func (s submitter) Heed(told func(id string)) (leave func()) { return s.calls.Heed(told) }

// Withdraw implements evm.Submitter.
func (s submitter) Withdraw(ctx context.Context, id string) error { return s.calls.Withdraw(ctx, id) }
