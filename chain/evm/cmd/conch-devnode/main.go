// Command conch-devnode is an Ethereum node for tests and demonstrations: the one of
// go-ethereum, with a chain of its own, in a process of its own. It can be made to do
// what a public chain does only on its worst days.
//
// It is a module of its own, so that who uses the driver does not get the graph of a
// node with it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const help = `Runs an Ethereum node with a chain of its own, for tests and demonstrations.

  conch-devnode [flags]

When it is ready it prints one line of JSON: the URLs, the chain's ID, and a funded
account with its private key, which is the same everywhere: worthless, and never to be
given anything of value.

Examples:
  conch-devnode                                 a block when one is asked for: dev_mine
  conch-devnode --block-time 1s                 a block every second
  conch-devnode --datadir D                     keeps the chain; killed with -9 and started
                                                again, it comes back with an older head
  conch-devnode --listen 127.0.0.1:0 --parent $$   any port; ends when this shell does

Methods beside eth, net, web3, txpool (over HTTP and WebSocket, on one port):
  dev_mine [n]                  n blocks (1) of what is in the pool; returns the last hash
  dev_block [[raw, …]]          a block of exactly these signed transactions
  dev_reorg [depth, [[raw, …], …]]   replaces the newest blocks by these; with none, the
                                head goes back; what the old ones held returns to the pool
  dev_drop [[hash, …]]          takes transactions out of the pool; with [], all of them
  dev_finalize []               makes the present head final
  dev_fund [address, gwei]      gives to an account, by a block with a withdrawal
  dev_burn [n]                  n full blocks of somebody else's: the base fee rises by
                                an eighth with each, and falls again with empty ones
  account_signTransaction [tx]  signs for the funded account, as clef does, unasked

Flags:
`

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "conch-devnode:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if cfg.parent > 0 {
		var orphaned context.CancelFunc
		ctx, orphaned = context.WithCancel(ctx)
		defer orphaned()
		go func() {
			awaitOrphan(ctx, cfg.parent)
			orphaned()
		}()
	}
	d, err := start(cfg)
	if err != nil {
		return err
	}
	defer d.close()
	if err := json.NewEncoder(stdout).Encode(d.ready()); err != nil { //nolint:gosec // the key is the same everywhere, and worthless
		return err
	}
	d.run(ctx)
	return nil
}

type config struct {
	listen    string
	blockTime time.Duration
	datadir   string
	parent    int
	pool      uint64
	gasLimit  uint64
	finality  uint64
	journal   bool
	verbose   bool
}

func parse(args []string, stderr io.Writer) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("conch-devnode", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&cfg.listen, "listen", "127.0.0.1:8545", "`address` of HTTP and WebSocket; port 0 is any")
	flags.DurationVar(&cfg.blockTime, "block-time", 0, "time between blocks; 0: a block when one is asked for")
	flags.StringVar(&cfg.datadir, "datadir", "", "`folder` that keeps the chain; none: in memory")
	flags.IntVar(&cfg.parent, "parent", 0, "end when the process with this `pid`, which must be the parent, is gone")
	flags.Uint64Var(&cfg.pool, "pool", 20000, "`transactions` that the pool keeps; 0: go-ethereum's own limits, above which it drops some that it has acknowledged")
	flags.Uint64Var(&cfg.gasLimit, "gas-limit", 500_000_000, "`gas` of a block")
	flags.Uint64Var(&cfg.finality, "finality", 3, "`blocks` below the head that a block is final; 0: by dev_finalize alone")
	flags.BoolVar(&cfg.journal, "journal", false, "keep a journal of transactions and bring them back, as go-ethereum does by default")
	flags.BoolVar(&cfg.verbose, "verbose", false, "the node's log, on standard error")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("%q is not a flag: see --help", flags.Arg(0))
	}
	if cfg.blockTime < 0 {
		return config{}, fmt.Errorf("--block-time %v: name a time, or 0 for a block on demand", cfg.blockTime)
	}
	return cfg, nil
}
