package evm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Submitter sends calls from the node's account. Package pending is one: an intent with the key and the call.
type Submitter interface {
	// Submit takes a call, to be sent after those that were taken before, also after a restart. One whose key was taken
	// before is taken once.
	Submit(ctx context.Context, key string, call chain.Call) error
}

// Config describes a Ledger. Everything is required.
type Config struct {
	Contract  ledger.Contract
	Node      Node           // is asked for the contract's state and events
	Chain     chain.Chain    // is followed; of the same chain as Node
	Self      ledger.Account // that Submitter sends from
	Submitter Submitter
}

// Validate returns every fault.
func (c Config) Validate() error {
	faults := []error{c.Contract.Validate()}
	if c.Node == nil || c.Chain == nil || c.Submitter == nil {
		faults = append(faults, errors.New("the ledger needs a node, a chain and a submitter"))
	}
	if len(c.Self) != addressSize {
		faults = append(faults, fmt.Errorf("the account %v is no address", c.Self))
	}
	return errors.Join(faults...)
}

// Ledger is a contract on a real chain, as a node of the sequencer uses it. It is safe for concurrent use.
//
// What it trusts: an endpoint that leaves events out delays what a node hears. It cannot have a node believe that a
// grant is dead which lives, or that an intent did not land, unless it lies about the contract's state itself.
type Ledger struct {
	*Reader
	cfg Config

	mu    sync.Mutex
	told  []chain.Block // the newest that Follow has told of, contiguous, the oldest first
	final uint64        // the highest number that was final by what was told: nothing below is taken back
}

// Open checks the contract on the chain (Check) and returns the ledger.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r, err := Check(ctx, cfg.Node, cfg.Contract)
	if err != nil {
		return nil, err
	}
	if _, _, err := r.Head(ctx); err != nil { // so that room is known
		return nil, err
	}
	return &Ledger{Reader: r, cfg: cfg}, nil
}

// Submit hands entries, or a cancellation, to the submitter. What is too much for one transaction is several, in order.
func (l *Ledger) Submit(ctx context.Context, tx ledger.Sent) error {
	if tx.By != l.cfg.Self {
		return fmt.Errorf("%w: %v is to send it, and the submitter sends from %v", ErrSent, tx.By, l.cfg.Self)
	}
	all, err := loads(l.contract, tx, l.room())
	if err != nil {
		return err
	}
	for _, one := range all {
		data, err := Calldata(one)
		if err != nil {
			return err
		}
		call := chain.Call{To: l.address[:], Data: data, Gas: gas(l.contract, one, data)}
		if err := l.cfg.Submitter.Submit(ctx, key(call), call); err != nil {
			return err
		}
	}
	return nil
}

// key is the same for the same call alone: with the key of another one, a call is refused for ever. Another version of
// this package may give the same entries more gas.
func key(c chain.Call) string {
	limit := number(c.Gas)
	return "ledger " + hex.EncodeToString(crypto.Keccak256(c.To, c.Data, limit[:]))
}

// Nudge has the node's account send nothing to itself, once for each head.
func (l *Ledger) Nudge(ctx context.Context) error {
	head, err := l.block(ctx, "latest")
	if err != nil {
		return err
	}
	return l.cfg.Submitter.Submit(ctx, "nudge "+head.Hash.Hex(), chain.Call{To: common.CopyBytes([]byte(l.cfg.Self)), Gas: transferGas})
}
