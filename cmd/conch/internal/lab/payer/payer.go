//go:build unix

// Package payer sends one account's transactions in the two ways that a bench compares: as
// conch does (intents in Postgres, signed, stored under the fence, sent, followed until they
// are final), and raw: bytes signed in advance, in JSON-RPC batches, to the same node.
//
// In both cases the node is asked in the same way whether a transaction is mined.
package payer

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// Payer is an account with its chain, node and tables.
type Payer struct {
	Node    *devnode.Node
	Account chain.Account
	// Keystore and PasswordFile hold the account's key.
	Keystore, PasswordFile string

	node   *rpc.Client
	raw    chain.Account // the account that sends without conch
	driver *evm.Chain
	tables *pgstore.Database
	store  *pgstore.Store

	within   pgstore.Reservation
	sequence pending.Sequence // of all managers: they lead in the same term
}

// BlockTime is the node's block interval.
const BlockTime = 250 * time.Millisecond

// pool has room for all transactions, so that the node drops none.
const pool = "200000"

// Open starts the node and creates the tables. The database must have those of the election.
func Open(ctx context.Context, program, url, dir string) (*Payer, error) {
	p, err := open(ctx, program, url, dir)
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func open(ctx context.Context, program, url, dir string) (*Payer, error) {
	p := &Payer{Keystore: filepath.Join(dir, "key.json"), PasswordFile: filepath.Join(dir, "password")}
	node, err := devnode.Start(ctx, program, "--block-time", BlockTime.String(), "--pool", pool)
	if err != nil {
		return p, err
	}
	p.Node = node
	p.node = rpc.New(p.Node.HTTP, time.Minute)
	if err := os.WriteFile(p.PasswordFile, []byte(password+"\n"), 0o600); err != nil {
		return p, err
	}
	own, err := p.key(p.Keystore, p.Node.PrivateKey)
	if err != nil {
		return p, err
	}
	other, err := p.key(filepath.Join(dir, "raw.json"), strings.Repeat("5a", 32))
	if err != nil {
		return p, err
	}
	p.Account, p.raw = own.Account(), other.Account()
	if err := p.node.Ask(ctx, nil, "dev_fund", p.raw, "0xe8d4a51000"); err != nil { // gwei
		return p, err
	}
	p.driver, err = evm.New(evm.Config{URL: p.Node.WS, ChainID: p.Node.ChainID, Signers: []evm.Signer{own, other}})
	if err != nil {
		return p, err
	}
	return p, p.openTables(ctx, url)
}

const password = "the key is worthless"

func (p *Payer) key(file, private string) (*evm.Keystore, error) {
	if _, err := evm.WriteKeystore(file, private, password, evm.NoCost); err != nil {
		return nil, err
	}
	return evm.OpenKeystore(file, p.PasswordFile)
}

func (p *Payer) openTables(ctx context.Context, url string) error {
	cfg := pg.Config{URL: url, AppName: "conch bench"}
	conn, err := pg.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	err = pgstore.Tables.Up(ctx, conn, nil)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	if p.tables, err = pgstore.Open(ctx, cfg, Callers); err != nil {
		return err
	}
	p.store = p.tables.Store(fmt.Sprintf("evm:%d", p.Node.ChainID), "bench")
	return nil
}

// Close ends everything.
func (p *Payer) Close() {
	if p.tables != nil {
		p.tables.Close()
	}
	if p.driver != nil {
		p.driver.Close()
	}
	if p.Node != nil {
		p.node.Close()
		p.Node.Stop()
	}
}

// call returns the call of every transaction: one wei to an unused address.
func call() chain.Call {
	return chain.Call{To: append(make([]byte, 19), 0xaa), Value: big.NewInt(1), Gas: 21_000}
}

// Pace is the interval for asking the node whether transactions are mined.
const Pace = 25 * time.Millisecond

const patience = 2 * time.Minute

// Count returns the number of the account's transactions at a tag of the node: pending,
// latest or finalized.
func (p *Payer) Count(ctx context.Context, at string) (uint64, error) {
	return p.node.Count(ctx, p.Account, at)
}

// Unfinished returns how many intents and transactions in the tables are not final.
func (p *Payer) Unfinished(ctx context.Context) (n int, err error) {
	counts, err := p.store.Counts(ctx)
	for _, c := range counts {
		n += c.N
	}
	return n, err
}

// Until polls the node at the given pace until it has as many of the account's transactions
// at a tag as wanted.
func (p *Payer) Until(ctx context.Context, at string, want uint64, pace time.Duration) error {
	return p.until(ctx, p.Account, at, want, pace)
}

func (p *Payer) until(ctx context.Context, a chain.Account, at string, want uint64, pace time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the chain never had %d transactions", want))
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		if n, err := p.node.Count(ctx, a, at); err != nil || n >= want {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
