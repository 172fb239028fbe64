package substratetest

import (
	"fmt"
	"math/big"
	"net"
	"time"
)

// Config configures a Node. The zero Config is a chain that makes blocks and final blocks when it is told to, with accounts of 32
// bytes, and a node with the limits that nodes have.
type Config struct {
	// Name makes the genesis of this chain differ from others'; default "substratetest".
	Name string
	// Accounts are those that exist from the beginning, by the bytes of the account, and their balances in the smallest unit. An
	// account needs at least Deposit.
	Accounts map[string]*big.Int
	// Ethereum lets accounts have 20 bytes and the signatures of Ethereum, as on chains with an EVM.
	Ethereum bool
	// Runtime is that of the first block; default version 100, transaction version 1.
	Runtime Runtime
	// Deposit is the existential deposit: an account with less ceases to exist; default 1,000,000,000.
	Deposit int64
	// SS58 is the prefix of addresses; default 42.
	SS58 uint16
	// Finality is how many blocks below the head a block becomes final by itself; 0: only Finalize does that.
	Finality uint32
	// Keeps is how many states below the final block the node has; default 256, as nodes have.
	Keeps uint32
	// TipUnit is the tip that raises a priority by one step: less changes nothing. Default 1. A runtime like Moonbeam's has more.
	TipUnit uint64
	// Ready and Future limit the pool's queues, in transactions; defaults 8192 and 819. PerBlock limits a block; default: by its bytes alone.
	Ready, Future, PerBlock int
	// MaxBatchCalls limits the calls in one of Utility's; default 10,000.
	MaxBatchCalls int
	// Subscriptions limits those of a connection; default 1024, as nodes have. Batch limits the calls of a JSON-RPC batch; default: none.
	Subscriptions, Batch int
	// Archive offers the methods archive_v1_body, archive_v1_header, archive_v1_hashByHeight, archive_v1_finalizedHeight and
	// archive_v1_genesisHash.
	Archive bool
	// NumericIDs lets subscriptions have numbers as their ids, not texts. Chopsticks lets statuses and errors be spelled as that
	// program does: {"ready":null}, and 1010 with {"invalid":{"stale":null}}.
	NumericIDs, Chopsticks bool
	// Now is the clock of the pool's bans; default time.Now.
	Now func() time.Time
	// Listen makes the listener of an endpoint; default: a port of 127.0.0.1 that is free.
	Listen func() (net.Listener, error)
}

func orElse[T comparable](value *T, otherwise T) {
	if *value == *new(T) {
		*value = otherwise
	}
}

// complete sets the defaults, and returns what is wrong.
func (c *Config) complete() error {
	orElse(&c.Name, specName)
	orElse(&c.Runtime.Spec, 100)
	orElse(&c.Runtime.Transaction, 1)
	orElse(&c.Deposit, 1_000_000_000)
	orElse(&c.SS58, 42)
	orElse(&c.Keeps, 256)
	orElse(&c.TipUnit, 1)
	orElse(&c.Ready, 8192)
	orElse(&c.Future, 819)
	orElse(&c.PerBlock, 1<<30)
	orElse(&c.MaxBatchCalls, 10_000)
	orElse(&c.Subscriptions, 1024)
	orElse(&c.Batch, 1<<30)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Listen == nil {
		c.Listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	for who, amount := range c.Accounts {
		if len(who) != c.accountSize() {
			return fmt.Errorf("substratetest: an account of this chain has %d bytes, and %x has %d", c.accountSize(), who, len(who))
		}
		if amount == nil || amount.Cmp(big.NewInt(c.Deposit)) < 0 || amount.BitLen() > 120 {
			return fmt.Errorf("substratetest: account %x needs at least the existential deposit, %d, and at most 120 bits; it has %v", who, c.Deposit, amount)
		}
	}
	if c.Deposit < 0 {
		return fmt.Errorf("substratetest: the existential deposit is %d", c.Deposit)
	}
	return nil
}

func (c *Config) accountSize() int {
	if c.Ethereum {
		return 20
	}
	return 32
}
