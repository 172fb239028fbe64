// Command conch-devnode is an Ethereum node for tests and demonstrations: go-ethereum with a
// private chain. It reorganises, drops transactions and raises fees when it is told to; see --help.
//
// It is a separate module, so that users of the driver do not depend on a whole node.
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

const help = `Runs an Ethereum node with a private chain, for tests and demonstrations.

  conch-devnode [flags]

When it is ready it prints one line of JSON: its URLs, the chain ID, and a funded account
with its private key. The key is the same everywhere: never send anything of value to it.

Examples:
  conch-devnode                                 makes a block when a dev_ method asks for one
  conch-devnode --block-time 1s                 makes a block every second
  conch-devnode --datadir D                     keeps the chain; after kill -9 and a restart
                                                it comes back with an older head, as real
                                                nodes do
  conch-devnode --listen 127.0.0.1:0 --parent $$   takes any port; ends when this shell ends

Methods beside eth, net, web3, txpool, debug (over HTTP and WebSocket, on one port). In
brackets: the JSON params; numbers are hex strings such as "0x2":
  dev_mine [n]                  makes n blocks, or one without n, of what is in the pool;
                                returns the last hash
  dev_block [[raw, …]]          makes a block of exactly these signed transactions
  dev_reorg [depth, [[raw, …], …]]   removes the newest depth blocks and puts these in
                                their place, if any; the old transactions return to the
                                pool
  dev_drop [[hash, …]]          removes transactions from the pool, all of them with []
  dev_finalize []               makes the present head final
  dev_fund [address, gwei]      gives gwei to an account, by a block with a withdrawal
                                and what is in the pool
  dev_burn [n]                  makes n full blocks of foreign transactions: each raises the
                                base fee by an eighth, and empty blocks lower it again
  account_signTransaction [tx]  signs for the funded account as clef does, without asking

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
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			awaitOrphan(ctx, cfg.parent)
			cancel()
		}()
	}
	d, err := start(cfg)
	if err != nil {
		return err
	}
	defer d.close()
	if err := json.NewEncoder(stdout).Encode(d.ready()); err != nil { //nolint:gosec // the key is public, and worthless
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
	archive   bool
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
	flags.StringVar(&cfg.listen, "listen", "127.0.0.1:8545", "`address` of HTTP and WebSocket; port 0 takes any port")
	flags.DurationVar(&cfg.blockTime, "block-time", 0, "time between blocks; 0: only the dev_ methods make them")
	flags.StringVar(&cfg.datadir, "datadir", "", "`folder` that keeps the chain; default: in memory")
	flags.IntVar(&cfg.parent, "parent", 0, "end when the process with this `pid`, which must be the parent, has ended")
	flags.Uint64Var(&cfg.pool, "pool", 20000, "`transactions` that the pool keeps; 0: go-ethereum's limits, above which it drops some that it has accepted")
	flags.Uint64Var(&cfg.gasLimit, "gas-limit", 500_000_000, "`gas` of a block")
	flags.Uint64Var(&cfg.finality, "finality", 3, "how many `blocks` below the head a block is final; 0: only dev_finalize makes it final")
	flags.BoolVar(&cfg.archive, "archive", false, "keep the states of all blocks, so that dev_reorg goes back further than the newest 128")
	flags.BoolVar(&cfg.journal, "journal", false, "keep a journal of transactions and restore them, as go-ethereum does by default")
	flags.BoolVar(&cfg.verbose, "verbose", false, "log to standard error")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("%q is not a flag: see --help", flags.Arg(0))
	}
	if cfg.blockTime < 0 {
		return config{}, fmt.Errorf("--block-time %v: use a time above 0, or 0 for blocks on demand", cfg.blockTime)
	}
	return cfg, nil
}
