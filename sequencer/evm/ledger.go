package evm

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Submitter sends calls from the node's account. Package pending is one: an intent with the key and the call. It is safe for
// concurrent use.
type Submitter interface { //nolint:interfacebloat // what becomes of a call, from its acceptance to its end
	// Submit takes a call, to be sent after those that were taken before, also after a restart, and returns what it is known
	// by. One whose key was taken before is taken once, and ended calls are not taken again. If it has no nonce when the block last
	// is there, it gets none any more, and is lost; 0: it always does.
	Submit(ctx context.Context, key string, call chain.Call, last uint64) (id string, err error)
	// UnderWay returns what Submit has taken of calls to an account, in this process or another one, and has not ended, the oldest
	// first. Calls of others that use the node's account are not among them.
	UnderWay(ctx context.Context, to []byte) ([]Submitted, error)
	// Lost reports whether a call has ended without an effect, and why: somebody cancelled it, say.
	Lost(ctx context.Context, id string) (is bool, why string, err error)
	// Withdraw takes back a call that is queued.
	Withdraw(ctx context.Context, id string) error
	// Heed has told called with the ID of each call of the account that ends without an effect, as soon as that is known, until leave is
	// called. It may miss some, and must not be blocked by told.
	Heed(told func(id string)) (leave func())
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
	var f faults.List
	f.Join(c.Contract.Validate())
	f.Add(c.Node == nil || c.Chain == nil || c.Submitter == nil, "the ledger needs a node, a chain and a submitter")
	f.Add(len(c.Self) != addressSize, "the account %v is no address", c.Self)
	return f.All()
}

// Ledger is a contract on a real chain, as a node of the sequencer uses it. It is safe for concurrent use.
//
// What it trusts: an endpoint that leaves events out delays what a node hears. It cannot have a node believe that a
// grant is dead which lives, or that an intent did not land, unless it lies about the contract's state itself.
type Ledger struct {
	*Reader
	cfg  Config
	sent carriers

	mu    sync.Mutex
	told  []chain.Block // the newest that Follow has told of, contiguous, the oldest first
	final uint64        // the highest number that was final by what was told: nothing below is taken back

	nudged struct { // the last head at which a block was asked for, and how often
		first string
		times int
	}
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
	return &Ledger{Reader: r, cfg: cfg, sent: carriers{by: map[mark]carrier{}, ended: map[string]bool{}}}, nil
}

// Submit hands entries, or a cancellation, to the submitter. What is too much for one transaction is several, in order. An
// entry that a transaction under way carries is not sent a second time.
func (l *Ledger) Submit(ctx context.Context, tx ledger.Sent) error {
	if tx.By != l.cfg.Self {
		return fmt.Errorf("%w: %v is to send it, and the submitter sends from %v", errSent, tx.By, l.cfg.Self)
	}
	l.sent.mu.Lock()
	defer l.sent.mu.Unlock()
	if len(tx.Entries) > 0 {
		var err error
		if tx.Entries, err = l.fresh(ctx, tx.Entries); err != nil || len(tx.Entries) == 0 {
			return err
		}
	}
	all, err := loads(l.contract, tx, l.room())
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := l.take(ctx, one); err != nil {
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

// Nudge has the node's account send nothing to itself. While anything that it sends to the contract, or such a transaction, is in no
// block none is sent: it brings a block, or an empty transaction would wait behind it.
func (l *Ledger) Nudge(ctx context.Context) error {
	open, err := l.cfg.Submitter.UnderWay(ctx, l.address[:])
	if err != nil {
		return err
	}
	nudges, err := l.cfg.Submitter.UnderWay(ctx, []byte(l.cfg.Self))
	if err != nil {
		return err
	}
	head, err := l.block(ctx, "latest")
	if err != nil {
		return err
	}
	first := "nudge " + head.Hash.Hex()
	for _, s := range slices.Concat(open, nudges) {
		if s.Stage != Included || strings.HasPrefix(s.Key, first) { // that one is in a block that this endpoint does not have
			return fmt.Errorf("%w: %s", ledger.ErrUnderWay, s.Key)
		}
	}
	_, err = l.cfg.Submitter.Submit(ctx, l.nudge(first), chain.Call{To: common.CopyBytes([]byte(l.cfg.Self)), Gas: transferGas}, 0)
	return err
}

// nudge returns the key of the next empty transaction at a head. The first one's is the same for all contracts of the
// account.
func (l *Ledger) nudge(first string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nudged.first != first {
		l.nudged.first, l.nudged.times = first, 0
	}
	if l.nudged.times++; l.nudged.times > 1 { // somebody has cancelled the one before
		return fmt.Sprint(first, again, l.nudged.times)
	}
	return first
}
