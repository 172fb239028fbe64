package sequencer

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// Config describes a node.
type Config struct {
	Self      ledger.Account            // of the node, with which it signs and sends
	Keys      Keys                      // signs for Self
	Peers     map[ledger.Account]string // the other members' names in the transport
	Transport transport.Endpoint
	Store     Store
	Secret    [32]byte // from which salts are made; the same at each start, and known to nobody else
	Contracts []Contract

	Tick    time.Duration // between two looks at the clock while something is under way; 50 ms
	Workers int           // goroutines for signatures and rules; 4
	Log     *slog.Logger  // nothing is logged if nil

	// SleepAfter is how long nothing happens in a contract until the node keeps it in the store alone, and no longer follows
	// its ledger; the next message or intent wakes it. 1 min.
	SleepAfter time.Duration

	// ShareFor is how long a user is not told that an intent is done, since its landing, though its block is final, if this
	// node has coordinated it itself and no other member has said that it keeps the contents. 10 s.
	ShareFor time.Duration

	// Stepped is told how long each step of a machine took, "sender", "coordinator" or "endorser", by the loop, which waits
	// for it. It may be nil.
	Stepped func(machine string, took time.Duration)

	// Told, if there is one, is told what happens to this node's intents. The loop waits for it.
	Told func(Told)
}

// Contract is a contract of which the node is a member.
type Contract struct {
	Declared ledger.Contract
	Rules    domain.Rules
	Scheme   ledger.Scheme
	Ledger   Ledger

	NudgeAfter time.Duration // without a block, while one is waited for: about 10 blocks; 2.5 s

	// ForgetAfter is how long the store keeps what has ended: an intent with its key, and contents of attempts whose states
	// are all spent. A key that is used again after that names a new intent. [DefaultForgetAfter] if 0, never if below 0.
	ForgetAfter time.Duration
}

// DefaultForgetAfter is how long a store keeps what has ended: 30 days.
const DefaultForgetAfter = 30 * 24 * time.Hour

// Keys sign for the node.
type Keys interface {
	// Sign signs a hash with the node's key. It may be called by several goroutines.
	Sign(h ledger.Hash) ([]byte, error)
}

// Ledger is the base ledger of one contract. It is safe for concurrent use.
type Ledger interface { //nolint:interfacebloat // what a chain has to do, and nothing else
	// Follow calls step with each ledger.Block after a number, and with each ledger.Rewind, in order, until the context
	// ends. Blocks before the contract's creation are not told. It never rewinds below a final block. An error is tried
	// again by the node, from where it was. It is called anew, after the block that the store has, each time when a
	// contract wakes.
	Follow(ctx context.Context, after uint64, step func(any)) error
	// Head returns the last block and the last final one.
	Head(ctx context.Context) (head, final uint64, err error)
	// Final reads intents and states in one final block.
	Final(ctx context.Context, intents []ledger.Intent, states []ledger.StateID) (ledger.View, error)
	// Submit hands a transaction to the node's submitter. Without an error it is taken, and goes out after those taken
	// before, also after a restart. One that was taken before is taken once.
	Submit(ctx context.Context, tx ledger.Sent) error
	// Nudge asks for an empty transaction, so that a chain that stands still makes a block. It returns an error that wraps
	// ledger.ErrUnderWay, and sends none, if something else of the account will make one.
	Nudge(ctx context.Context) error
}

// Reviewer is a Ledger whose submitter may give up what it has taken: somebody cancels it, or the chain refuses it.
type Reviewer interface {
	// Review is asked with the entries that are awaited: those that were submitted, are in no block, and can still land. It
	// returns those that no transaction carries, and why the others wait, empty if nothing is known to be in the way. What
	// the submitter has, and has not signed, it gives up if none of its entries is awaited. It is called after the calls of
	// Submit before, and no Submit is under way meanwhile.
	Review(ctx context.Context, awaited []ledger.Entry) (lost []ledger.Entry, waits string, err error)
	// Heed has told called as soon as it is known that something which was submitted has ended without effect, until leave is called:
	// then there is a review at once. It may be called once too often, and may be missed, since there are reviews all the time. It must
	// not block.
	Heed(ctx context.Context, told func()) (leave func(), err error)
}

func (c Config) withDefaults() Config {
	c.Tick = cmp.Or(c.Tick, 50*time.Millisecond)
	c.Workers = cmp.Or(c.Workers, 4)
	c.ShareFor = cmp.Or(c.ShareFor, 10*time.Second)
	c.SleepAfter = cmp.Or(c.SleepAfter, time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate returns every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "sequencer: "}
	f.Add(c.Self == "" || c.Keys == nil, "the node needs an account and its keys")
	f.Add(c.Transport == nil || c.Store == nil, "a transport and a store are needed")
	f.Add(c.Secret == [32]byte{}, "the secret is zero: anybody could guess what a commitment hides")
	f.Add(c.Tick < 0 || c.Workers < 0 || c.SleepAfter < 0 || c.ShareFor < 0, "tick, workers, and the times until a contract sleeps and for sharing are not negative")
	peers := map[string]bool{}
	for _, name := range c.Peers {
		f.Add(peers[name], "the peer %q has several accounts, and a message of it speaks for one", name)
		peers[name] = true
	}
	seen := map[string]bool{}
	for _, k := range c.Contracts {
		at := k.Declared.Address
		if err := k.Declared.Validate(); err != nil {
			f.Join(err)
			continue
		}
		f.Add(seen[at], "the contract %s is there twice", at)
		seen[at] = true
		f.Add(k.Rules == nil || k.Scheme == nil || k.Ledger == nil, "the contract %s needs rules, a scheme and a ledger", at)
		f.Add(!slices.Contains(k.Declared.Members, c.Self), "%v is no member of the contract %s", c.Self, at)
		for _, a := range k.Declared.Members {
			_, known := c.Peers[a]
			f.Add(a != c.Self && !known, "the contract %s has the member %v, and no peer has that account", at, a)
		}
	}
	return f.All()
}
