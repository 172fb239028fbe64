//go:build unix

package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/chaos"
	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
)

func (l lab) chaos() *cobra.Command {
	cfg := chaos.Config{}
	var takeover string
	var only []string
	var sequencer bool
	var logs string
	var intents int
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "hurt real processes and their database while they work, and see that exactly one acts",
		Long:  chaosLong(),
		Example: `  conch-lab chaos
  conch-lab chaos --faults 200 --seed 7 --json > chaos.json
  conch-lab chaos --faults 20 --only kill9 --only stop-long
  conch-lab chaos --faults 30 --takeover fast --only silent --only backend
  conch-lab chaos --viewers 20 --faults 40
  conch-lab chaos --sequencer --faults 40
  conch-lab chaos --sequencer --faults 100 --intents 2000 --seed 7 --logs /tmp/logs`,
		Args: cli.NoArguments,
	}
	flags := cmd.Flags()
	flags.IntVar(&cfg.Faults, "faults", 20, "how many faults")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "seed of the plan; default: a random one, which is printed")
	flags.IntVar(&cfg.Nodes, "nodes", 3, "how many machines")
	flags.DurationVar(&cfg.Lease, "lease", time.Second, "how long leadership outlives its last heartbeat")
	flags.StringVar(&takeover, "takeover", string(mint.Strict), "strict, fast or keep; fast may overlap, and this shows it")
	flags.DurationVar(&cfg.Duration, "duration", 0, "no fault begins later; 0: as long as the faults take")
	flags.StringArrayVar(&only, "only", nil, "faults of this `kind` only; may be given several times")
	flags.IntVar(&cfg.Viewers, "viewers", 0, "how many look at the machines' pages all the time")
	flags.BoolVar(&cfg.KeepGoing, "keep-going", false, "continue with the next fault if something did not recover")
	flags.BoolVar(&sequencer, "sequencer", false, "hurt five organisations that share a private contract")
	flags.IntVar(&intents, "intents", 0, "with --sequencer: at least how many payments are asked for")
	flags.StringVar(&logs, "logs", "", "with --sequencer: `folder` that gets the nodes' logs")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			cfg.Takeover = mint.Takeover(takeover)
			for _, k := range only {
				cfg.Kinds = append(cfg.Kinds, chaos.Kind(k))
			}
			if !flags.Changed("seed") {
				cfg.Seed = rand.Uint64N(1 << 31) //nolint:gosec // any number will do
			}
			switch {
			case sequencer:
				if err := unused(cmd, "--sequencer has five organisations and all kinds of its faults", "nodes", "lease", "takeover", "only", "keep-going", "viewers"); err != nil {
					return err
				}
				return l.runConsortium(ctx, consortium.Config{
					Duration: cfg.Duration, Logs: logs, Chaos: &consortium.Chaos{Seed: cfg.Seed, Faults: cfg.Faults, Intents: intents},
				})
			case logs != "" || intents != 0:
				return cli.Usagef("--logs and --intents go with --sequencer only")
			}
			return l.runChaos(ctx, cfg)
		})(cmd, args)
	}
	return cmd
}

func chaosLong() string {
	return `chaos starts a private Postgres and some machines around it, each a worker and a
"conch run" behind their own line to the database, and hurts them by the plan of a
seed: processes are killed and stopped, lines go silent, Postgres dies, its clock
jumps, its lock table fills up. After each fault it waits until everything goes on.

Three workloads run all the time: rows committed under conch.fence(), acts in a file
that only the gate protects, and the child of a "conch run" that writes to a file and
knows nothing of gates. At the end it judges what they left behind, not what a process
reports about itself: whether two acted at once, whether anything acknowledged was
lost, whether an act door or a child outlived its lease, whether a scope had no leader
for longer than its fault explains.

With --viewers each machine also has a conch node, whose page so many viewers read as a
browser does. None may be told as the present what is past, nor an event twice on one
stream, and none may be left out.

Equal seeds give equal plans, not equal runs. It touches no database but its own and
leaves nothing behind. Exit 1 on a violation, if no fault hit anybody, and if Ctrl-C has
ended it early, which it does with the verdict.

With --sequencer five organisations share a private contract instead, each with a
conch node, a database, an account and an identity of its own, on one private chain.
Payments on notes that all want flow from all five, and an attacker watches the
chain's pool: it copies what it sees, as a stranger and with the key of one member,
and sends it first. At the end the ledger decides: whether any payment landed twice,
whether anything accepted was lost or told wrongly or was ended by somebody else,
whether the money is there, whether the attacker landed anything, and whether one node
that is behind held up the others.

The kinds of faults:

` + kindList(chaos.Kinds(), chaos.Describe) + `

With --sequencer:

` + kindList(consortium.Kinds(), consortium.Describe)
}

func kindList[K ~string](kinds []K, describe func(K) string) string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-18s %s\n", k, describe(k))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (l lab) runChaos(ctx context.Context, cfg chaos.Config) (err error) {
	if cfg.Program, cfg.Screen, err = l.private(ctx, "chaos", cfg.Validate()); err != nil {
		return err
	}
	if cfg.Conch, err = product(cfg.Program); err != nil {
		return err
	}
	report, err := chaos.Run(ctx, cfg)
	if err != nil {
		return err
	}
	fault := cutShort(ctx, report.Fault(ctx.Err() != nil), report.Replay)
	return l.judged(report, fault, func() error { return l.printChaos(report) })
}

// cutShort is the fault of a plan that was not carried out to its end, if it has no other one.
func cutShort(ctx context.Context, fault error, replay string) error {
	if fault == nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted: not all of the plan was carried out; the whole of it is: %s", replay)
	}
	return fault
}

func (l lab) printChaos(r chaos.Report) error {
	var rows []string
	total := 0
	for _, k := range append(chaos.Kinds(), chaos.Combined) {
		total += r.Faults[k]
		if _, seen := r.Unavailable[k]; !seen && r.Faults[k] == 0 {
			continue
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%s", k, r.Faults[k], spread(r.Unavailable, k), spread(r.ActDoor, k), spread(r.Children, k)))
	}
	err := l.Table("FAULT\tCOUNT\tNO ROW, ms\tNO ACT, ms\tNO CHILD, ms", rows)
	if err != nil {
		return err
	}
	for i, v := range r.Violations {
		if i == shownViolations {
			if err := l.Line("… and %d more", len(r.Violations)-i); err != nil {
				return err
			}
			break
		}
		if err := l.Line("violated: %s, after fault %d: %s", v.Invariant, v.Fault, v.Detail); err != nil {
			return err
		}
	}
	if err := l.Line("\n%d faults in %.0f s, seed %d: %d acts by %d leaderships, %d violations", total, r.Seconds, r.Seed, r.Acts, r.Leaders, len(r.Violations)); err != nil {
		return err
	}
	if r.Streams > 0 {
		if err := l.Line("viewers were told %d times, on %d streams", r.Told, r.Streams); err != nil {
			return err
		}
	}
	for _, k := range chaos.Kinds() {
		if n := r.Missed[k]; n > 0 {
			if err := l.Line("%d more of kind %s found nobody to hit", n, k); err != nil {
				return err
			}
		}
	}
	if r.Frozen > 0 {
		return l.Line("%d writes were delayed between the gate's yes and the write, by a stop or a busy machine: only a fence refuses those", r.Frozen)
	}
	return nil
}

func spread(of map[chaos.Kind]chaos.Spread, k chaos.Kind) string {
	s, seen := of[k]
	if !seen {
		return "-"
	}
	return fmt.Sprintf("p50 %.0f max %.0f", s.P50, s.Max)
}

// chaosChild is the command that chaos runs under conch run.
func (l lab) chaosChild() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: chaos.ChildCommand, Short: "the child of a conch run in chaos", Hidden: true, Args: cli.NoArguments,
		Example: "  conch run --scope s -- conch-lab chaos-child --dir /tmp/evidence",
	}
	cmd.Flags().StringVar(&dir, "dir", "", "where its evidence goes")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		// A child that obeyed SIGTERM would hide a keeper that sends nothing else.
		signal.Ignore(syscall.SIGTERM)
		return chaos.Child(ctx, dir, l.Getenv)
	})
	return cmd
}

// chaosStray is a transaction that fences and then does not end.
func (l lab) chaosStray() *cobra.Command {
	s := pgrogue.Straggler{Work: time.Hour}
	cmd := &cobra.Command{
		Use: chaos.StrayCommand, Short: "a transaction of chaos that does not end", Hidden: true, Args: cli.NoArguments,
		Example: "  conch-lab chaos-stray --scope s",
	}
	cmd.Flags().StringVar(&s.Scope, "scope", chaos.Scope, "whose fence it holds")
	cmd.Flags().BoolVar(&s.Busy, "busy", false, "go on working instead of waiting")
	cmd.RunE = cli.Does(func(ctx context.Context) error {
		database, err := l.Configure()
		if err != nil {
			return err
		}
		if database.URL == "" {
			return cli.Usagef("CONCH_DB_URL is not set")
		}
		s.URL, s.Told = database.URL, l.Stdin
		s.Say = func(word string) { _ = l.Document(worker.Report{Kind: election.Kind(word)}) }
		return s.Run(ctx)
	})
	return cmd
}
