//go:build unix

package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/demo"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/swarm"
)

const demoHelp = `demo starts a private Postgres and several conch processes that all want to lead.
It lets the leader work, kills it with SIGKILL again and again, and restarts what it
killed. At the end it judges what was left behind: whether two acted at once, whether
anything acknowledged was lost, whether anything was done twice.

Beside Postgres it starts a private Ethereum chain (conch-devnode) with one account,
from which all nodes can send and one at a time does. Customers ask any node for
transactions under idempotency keys, and another node if they get no answer. The
chain itself then shows whether each was done exactly once. A receiver of webhooks is
told of them: of each end once at least, and of none after a later event.

The leader works behind both doors: it commits rows to a ledger under conch.fence(),
which needs no wait after a crash, and writes to a file that only the gate protects,
whose act door opens one lease after a crash.

The demo looks for conch-devnode beside this program, then on the PATH, unless
CONCH_DEVNODE names it; "make build" makes both. Without it, or with --no-chain, no
transactions are sent, and the verdict says nothing about them.

With --sequencer it shows private contracts instead: five organisations, each with a
conch node, a database, an account and an identity of its own, share a contract on one
private chain. Payments on notes that all want flow from all five while coordinators
are killed, nodes are stopped, and two are cut off from three. The verdict is read from
the ledger: each payment at most once, everything accepted has ended as it was told,
and the money in the notes is what was issued.

With --gossip it shows agents without a database: 200 conch nodes on this machine name
one leader, as a hint, and hear the same news. Seven of them decide on a log, which five
more follow, and clients submit goals at all of these. Leaders are killed, a tenth of the
nodes at once, and the network is cut between them; a member's copy of the log is deleted,
and a node joins that has nothing. Exit 1 if a leader that worked was deposed, two were
named for longer than a heartbeat counts, news was lost or heard twice, an acknowledged
goal is not in the log once, or "conch log verify" finds that copies differ.

It touches no database and no chain but its own and leaves nothing behind. Exit 1
if anything overlapped, was lost, was done twice or never ended, or if no failover
was seen. Ctrl-C ends it early, with the verdict.`

const demoExamples = `  conch demo
  conch demo --nodes 5 --duration 20s --kill-every 3s --lease 1s
  conch demo --no-chain
  conch demo --sequencer
  conch demo --sequencer --duration 30s --kill-every 3s --logs /tmp/logs
  conch demo --gossip
  conch demo --gossip --nodes 40 --duration 30s --seed 7
  conch demo --json > verdict.json`

func (l lab) demo() *cobra.Command {
	cfg, noChain := demo.Config{}, false
	sequencer, gossip, seed, logs := false, false, uint64(1), ""
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "kill the leader over and over, and see that nobody acts twice and nothing is lost",
		Long:    demoHelp,
		Example: demoExamples,
		Args:    cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.IntVar(&cfg.Nodes, "nodes", 3, "how many processes")
	flags.DurationVar(&cfg.Duration, "duration", time.Minute, "how long, from the first act on")
	flags.DurationVar(&cfg.KillEvery, "kill-every", 5*time.Second, "how often the leader is killed, or with --sequencer something is done to a node; 0 never")
	flags.DurationVar(&cfg.Lease, "lease", 3*time.Second, "how long leadership outlives its last heartbeat")
	flags.StringVar(&cfg.Listen, "listen", "127.0.0.1:7070", "address of the dashboard and the HTTP API during the demo, loopback only; empty: none")
	flags.BoolVar(&noChain, "no-chain", false, "start no private chain and send no transactions")
	flags.BoolVar(&sequencer, "sequencer", false, "show five organisations that share a private contract")
	flags.BoolVar(&gossip, "gossip", false, "show agents without a database that name one leader, and a log; 200, or 100 on one processor, unless --nodes says how many")
	flags.Uint64Var(&seed, "seed", 1, "with --gossip: who is struck follows from it")
	flags.StringVar(&logs, "logs", "", "with --sequencer: `folder` that gets the nodes' logs")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		switch {
		case gossip && sequencer:
			return cli.Usagef("--gossip and --sequencer are two demos: run one after the other")
		case gossip:
			return l.demoGossip(ctx, cmd, swarm.Config{Nodes: cfg.Nodes, Duration: cfg.Duration, Seed: seed})
		case cmd.Flags().Changed("seed"):
			return cli.Usagef("--seed goes with --gossip only")
		case sequencer:
			return l.demoSequencer(ctx, cmd, consortium.Config{Duration: cfg.Duration, KillEvery: cfg.KillEvery, Listen: cfg.Listen, Logs: logs})
		case logs != "":
			return cli.Usagef("--logs goes with --sequencer only")
		}
		return l.runDemo(ctx, cfg, !noChain)
	})
	return cmd
}

func (l lab) runDemo(ctx context.Context, cfg demo.Config, withChain bool) error {
	var err error
	if cfg.Program, cfg.Screen, err = l.private(ctx, "demo", cfg.Validate()); err != nil {
		return err
	}
	cfg.Kinds, cfg.Version = l.Kinds, l.Build.Version
	if withChain {
		if cfg.Devnode = devnode.Find(cfg.Program); cfg.Devnode == "" {
			_, _ = fmt.Fprintf(l.Stderr, "TRANSACTIONS ARE LEFT OUT: %s is neither beside this program nor on the PATH; "+
				"\"make build\" in the source of conch makes both (--no-chain leaves them out on purpose)\n", devnode.Name)
		}
	}
	verdict, err := demo.Run(ctx, cfg)
	if err != nil {
		return err
	}
	fault := verdict.Fault(cfg.KillEvery > 0)
	return l.judged(verdict, fault, func() error { return l.printVerdict(verdict, fault) })
}

func (l lab) printVerdict(v evidence.Verdict, fault error) error {
	rows := []string{
		fmt.Sprintf("acts\t%d", v.Acts),
		fmt.Sprintf("leaders killed\t%d", v.Kills),
		fmt.Sprintf("leaders that acted\t%d\t%s", v.Leaders, counted(v)),
		fmt.Sprintf("failover\t%s\tms from the kill to the successor's first commit", v.Failover),
		fmt.Sprintf("act door\t%s\tms from the kill until the successor may act outside", v.ActDoor),
		fmt.Sprintf("overlapping\t%d", v.Overlapping),
		fmt.Sprintf("lost\t%d", v.Lost),
		fmt.Sprintf("duplicated\t%d", v.Duplicated),
	}
	if c := v.Chain; c != nil {
		rows = append(rows,
			fmt.Sprintf("transactions\t%d\tacknowledged by a node; what follows the chain says", c.Intents),
			fmt.Sprintf("  done\t%d", c.Done), fmt.Sprintf("  missing\t%d", c.Missing),
			fmt.Sprintf("  twice\t%d", c.Twice), fmt.Sprintf("  nonce gaps\t%d", c.NonceGaps))
	}
	if c := v.Crons; c != nil {
		rows = append(rows, fmt.Sprintf("scheduled times\t%d\tof a cron that is due each second", c.Times),
			fmt.Sprintf("  done\t%d\tby a worker; the last ones may be under way", c.Done), fmt.Sprintf("  missing\t%d", c.Missing), fmt.Sprintf("  twice\t%d", c.Twice))
	}
	if w := v.Webhooks; w != nil {
		rows = append(rows, fmt.Sprintf("webhooks\t%d\tends of transactions, of which a receiver is told", w.Finals),
			fmt.Sprintf("  told\t%d\tof them %d more than once", w.Told, w.Again), fmt.Sprintf("  out of turn\t%d", w.OutOfTurn))
	}
	if err := l.Table("", rows); err != nil || fault != nil {
		return err
	}
	err := l.Line("\n%d leaderships acted, under %d kills: nobody acted beside another, nothing was lost, nothing was done twice.",
		v.Leaders, v.Kills)
	switch {
	case err != nil:
		return err
	case v.Chain == nil:
		return l.Line("No transactions were sent.")
	case v.Crons != nil:
		err = l.Line("%d scheduled times have come: each has one row and one job, and %d jobs are done, each once.", v.Crons.Times, v.Crons.Done)
	}
	if err == nil && v.Webhooks != nil {
		err = l.Line("%d ends were told to a receiver, each once at least, and no event out of turn.", v.Webhooks.Told)
	}
	if err != nil {
		return err
	}
	return l.Line("%d transactions were asked for at any node: each is in the chain once, with no gap, and nothing is there that the database does not know.", v.Chain.Done)
}

// counted says why more leaders acted than were killed.
func counted(v evidence.Verdict) string {
	if v.Chain == nil {
		return "each epoch counts"
	}
	return "each epoch of both scopes counts; one kill may end a leadership of each"
}

// forgetDatabase hides the caller's settings from the private server and from the nodes,
// which inherit the environment.
func forgetDatabase() {
	for _, name := range append([]string{
		"CONCH_DB_TLS_INSECURE", "CONCH_DB_TLS_CA_FILE", "CONCH_LISTEN_CHANNEL",
		"PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGTARGETSESSIONATTRS", "PGCONNECT_TIMEOUT", "PGAPPNAME",
	}, cli.DatabaseVariables()...) {
		_ = os.Unsetenv(name)
	}
}
