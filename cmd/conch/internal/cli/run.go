//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/name"
)

type runFlags struct {
	scope, id, takeover  string
	locks                string
	lease                time.Duration
	killGrace, stopGrace time.Duration
	fenced, restart      bool
	isolate, noWait      bool
	opsListen            string
	cmdDB, user          string
	turn                 *turn // of a cron; nil: a run
}

// services returns run and cron.
func (a *app) services() []*cobra.Command { return []*cobra.Command{a.run(), a.cron()} }

const runHelp = `run campaigns for a scope and runs CMD only while it leads. Start it on several
machines: one CMD runs at a time, and another takes over when it ends, is killed,
hangs with its machine, or loses the database.

CMD and all its descendants are dead before another may act, even if conch itself
is killed with -9 or stopped: a keeper, a process of its own, sees to it. CMD finds
CONCH_SCOPE, CONCH_EPOCH, CONCH_TERM, CONCH_ID and CONCH_DB_URL in its environment.

When leadership is lost CMD gets SIGTERM, then SIGKILL, and conch campaigns again. A
late heartbeat is enough, since CMD must be dead before the gate shuts: with a lease of
3s CMD gets SIGTERM 1.95s after the last heartbeat that came through, which are 0.6s
apart. So a machine, or a database, that stops for more than 1.2s may cost CMD a
restart; a longer --lease takes longer stops, and longer to replace a dead leader.

When CMD exits by itself, what it left running is ended too, leadership is released,
and conch exits with CMD's code (128 + N if signal N ended it); with --restart CMD
is started again instead. So CMD must stay in the foreground, and it is a service
that goes on: in the crontabs of three machines run would run CMD up to three times,
one after the other, and with --no-wait too. "conch cron" runs it once.

While the database is down conch waits for it, as it does while another one leads.
With --no-wait it exits instead, with 75 if another one leads, and with 69 if that
cannot be known.

Signals are passed on to CMD. SIGINT or SIGTERM ends conch when CMD has ended, which
is killed after --stop-grace, or at once at the second. On a terminal Ctrl-C reaches
CMD without conch; if CMD still runs after half of --stop-grace it gets SIGTERM too.
SIGHUP, SIGINT and SIGQUIT are ignored by both if conch was started so, as by nohup.

By default CMD starts when the act door opens: after a crash of the predecessor one
lease later. With --fenced it starts at once; say it only if all of CMD's effects
are refused when they are stale, as by conch.fence('S', $CONCH_EPOCH, '$CONCH_TERM') in its
transactions.

Nothing local can recall what is already on its way to another machine, was started
elsewhere for CMD (a container engine, cron, ssh), or sits in an uninterruptible
sleep (state D). A CMD that stops both its keeper and conch (SIGSTOP) acts on: give it
another --user, or --isolate, since neither may signal them. If all of them are stopped
and go on, CMD may act for a moment, too. Only a fence refuses all of those.`

const runExample = `  conch run --scope payments -- ./payments --listen :8080
  conch run --scope mailer --restart -- python3 mailer.py
  conch run --scope mailer --ops-listen :9090 --user mailer --cmd-db none -- ./mailer
  conch run --scope ledger --fenced --lease 1s -- ./ledger`

func (a *app) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run --scope S [flags] -- CMD ARG…",
		Short:   "run a command, in any language, only while this process leads",
		Long:    runHelp,
		Example: runExample,
		Args:    keptCommand,
	}
	flags := cmd.Flags()
	f.keeps(flags)
	flags.StringVar(&f.takeover, "takeover", string(mint.Strict), "strict, fast or keep")
	flags.StringVar(&f.locks, "locks", string(pgmint.SessionLocks), "session or process: how the scope is kept; see docs/configuration.md")
	flags.BoolVar(&f.fenced, "fenced", false, "CMD's effects are all fenced: start it as soon as the token is minted")
	flags.BoolVar(&f.restart, "restart", false, "start CMD again when it exits")
	flags.BoolVar(&f.noWait, "no-wait", false, "exit with 75 if another one leads, and with 69 if that cannot be known")
	flags.StringVar(&f.opsListen, "ops-listen", "", "`address` of /healthz, /readyz, /metrics and /leader/{scope}; default none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return Does(func(ctx context.Context) error { return a.conduct(ctx, cmd, f, args) })(cmd, nil)
	}
	return lasting(cmd)
}

// keptCommand checks the arguments of a command that keeps another one.
func keptCommand(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath()
	switch {
	case len(args) == 0:
		return Usagef("%s needs a command after its flags: %s --scope S -- CMD ARG…", cmd.Name(), path)
	case cmd.Flag("scope").Changed:
		return nil
	case len(args) > 2 && args[1] == "--":
		return Usagef("%s needs --scope: did you mean %s --scope %s?", cmd.Name(), path, strings.Join(args, " "))
	}
	return Usagef("%s needs --scope, a name for what only one may do at a time: %s --scope S -- %s", cmd.Name(), path, strings.Join(args, " "))
}

// keeps adds the flags about the command that is kept, and about the campaign for it.
func (f *runFlags) keeps(flags *pflag.FlagSet) {
	flags.SetInterspersed(false) // what follows CMD is CMD's
	flags.StringVar(&f.scope, "scope", "", "the `scope` to lead")
	flags.StringVar(&f.id, "id", "", "this candidate's name; default CONCH_INSTANCE_ID, else one made up")
	flags.DurationVar(&f.lease, "lease", 3*time.Second, "how long leadership outlives its last heartbeat")
	flags.BoolVar(&f.isolate, "isolate", false, "run CMD in a PID namespace, from which nothing gets away; takes it off the terminal")
	flags.StringVar(&f.cmdDB, "cmd-db", "", "the `URL` that CMD gets as CONCH_DB_URL, or none, instead of conch's own; without a password in the arguments: CONCH_CMD_DB_URL")
	flags.StringVar(&f.user, "user", "", "the `name` of the user that CMD runs as; conch needs the rights of root for it")
	flags.DurationVar(&f.killGrace, "kill-grace", 0, "how long before the deadline CMD gets SIGTERM, and at half of it SIGKILL; default a quarter of the lease, less if the gate shuts soon after a heartbeat")
	flags.DurationVar(&f.stopGrace, "stop-grace", 10*time.Second, "how long CMD may take to end when conch is asked to")
}

// conduct checks all that can be checked before the campaign, then runs a node with one role and no API.
func (a *app) conduct(ctx context.Context, cmd *cobra.Command, f runFlags, command []string) error {
	a.collectAt(runCollectAt)
	campaign, err := a.candidate(cmd, f)
	cfg := config.Config{
		Node: config.Node{Listen: config.Off, OpsListen: f.opsListen}, Election: campaign,
		Sections: []config.Section{oneRole{config.Role{Name: f.scope, Scope: f.scope, Fenced: f.fenced, Kept: true, DrainTimeout: keeper.DrainTime(f.stopGrace)}}},
	}
	if err == nil {
		err = a.timely(cmd, cfg.Elector(cfg.Settled()...))
	}
	if err == nil {
		f.killGrace, err = keeper.Grace(f.killGrace, campaign.Lease, campaign.Spare(election.Role{}))
	}
	if err != nil {
		return usage{err}
	}
	if err := a.surroundings(ctx, cmd, &f); err != nil {
		return usage{err}
	}
	if _, err := keeper.Runnable(command[0]); err != nil {
		return f.unstarted(err)
	}
	ready := func(ctx context.Context) (pgmint.Config, error) { return a.ready(ctx, f.scope) }
	if f.turn != nil {
		cfg.Database, err = f.turn.reach(ctx, ready)
	} else {
		cfg.Database, err = ready(ctx)
	}
	if err != nil {
		_, wrongly := errors.AsType[usage](err)
		switch {
		case wrongly || ctx.Err() != nil || f.turn != nil:
			return err
		case f.noWait:
			return unknownLeader(f.scope, err)
		case !mayPass(err):
			return err
		}
		// A database that is down is waited for, as by a node: the campaign says so every ten seconds.
	}
	cfg.Named = true // it was named, or it answers at the default address
	if cmd.Flags().Changed("locks") {
		cfg.Database.Locks = pgmint.Locks(f.locks)
	}
	switch {
	case f.turn != nil && campaign.Follower:
		return nil
	case f.turn != nil:
		if f.turn.slots, err = a.program.Slots(ctx, cfg.Database); err != nil {
			return f.turn.unasked(err)
		}
		defer f.turn.slots.Close()
	case campaign.Follower:
		a.Log.Warn("CONCH_LEADER_ENABLED=false: this process never leads, and its command is never run", slog.String("id", campaign.ID), slog.String("scope", f.scope))
	}
	c := &conductor{app: a, flags: f, command: command}
	if err = c.run(ctx, cfg); err == nil && f.turn != nil && f.turn.led.Load() {
		return f.turn.passed(ctx)
	}
	return err
}

// timely checks that a campaign can end its command in time; its error names the flag or variable at fault.
func (a *app) timely(cmd *cobra.Command, cfg election.Config) error {
	faults := config.Complaints(cfg, true)
	if len(faults) == 0 {
		return nil
	}
	key, text := config.Culprit(cfg, true, faults[0]), Sentence(faults[0].Error())
	variable := config.Variable(key)
	switch {
	case key == "lease" && cmd.Flags().Changed("lease"):
		return Usagef("--lease %s: %s", cfg.Lease, text)
	case variable != "" && a.Getenv(variable) != "":
		return Usagef("%s=%s: %s", variable, a.Getenv(variable), text)
	}
	return Usagef("%s", text)
}

// candidate combines flags and environment; flags win.
func (a *app) candidate(cmd *cobra.Command, f runFlags) (election.Config, error) {
	cfg, err := election.Config{Takeover: mint.Takeover(f.takeover)}.WithEnv(a.Getenv)
	if err != nil {
		return cfg, err
	}
	if cmd.Flags().Changed("lease") || cfg.Lease == 0 {
		cfg.Lease = f.lease
	}
	if cmd.Flags().Changed("id") {
		if err := election.ValidID(f.id); err != nil {
			return cfg, err
		}
		cfg.ID = f.id
	}
	cfg.ID = cmp.Or(cfg.ID, election.Identity())
	lease := "--lease " + cfg.Lease.String()
	if text := a.Getenv("CONCH_LEASE_MS"); text != "" && !cmd.Flags().Changed("lease") {
		lease = fmt.Sprintf("CONCH_LEASE_MS=%s (%s)", text, cfg.Lease)
	}
	takeovers := []mint.Takeover{mint.Strict, mint.Fast, mint.Keep}
	switch {
	case cfg.Lease < election.MinLease || cfg.Lease > election.MaxLease:
		return cfg, Usagef("%s is not between %s and %s", lease, election.MinLease, election.MaxLease)
	case !slices.Contains(takeovers, cfg.Takeover):
		return cfg, Usagef("--takeover %q is none of strict, fast, keep", f.takeover)
	case !slices.Contains([]pgmint.Locks{pgmint.SessionLocks, pgmint.ProcessLocks}, pgmint.Locks(f.locks)):
		return cfg, Usagef("--locks %q is neither session nor process", f.locks)
	case f.stopGrace <= 0:
		return cfg, Usagef("--stop-grace must be positive")
	}
	if why := name.Fault(f.scope); why != "" && election.ValidScope(f.scope) == nil {
		return cfg, Usagef("--scope %q %s", f.scope, why)
	}
	return cfg, election.ValidScope(f.scope)
}
