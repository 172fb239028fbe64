//go:build unix

package lab

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
	"github.com/conchhq/conch/cmd/conch/internal/lab/swarm"
)

// demoGossip runs the demo of gossip, which has no use for some flags of the other one.
func (l lab) demoGossip(ctx context.Context, cmd *cobra.Command, cfg swarm.Config) error {
	if err := unused(cmd, "--gossip has no database, no chain and no lease, and its strikes follow each other", "lease", "no-chain", "kill-every", "listen", "logs"); err != nil {
		return err
	}
	if !cmd.Flags().Changed("nodes") {
		cfg.Nodes = swarm.DefaultNodes()
	}
	if err := cfg.Validate(); err != nil {
		return cli.Usagef("%w", err)
	}
	if l.DB != "" {
		return cli.Usagef("demo --gossip uses no database: leave --db out")
	}
	program, err := own()
	if err != nil {
		return err
	}
	if cfg.Program, err = product(program); err != nil {
		return err
	}
	forgetDatabase()
	cfg.Screen = l.shown()
	verdict, err := swarm.Run(ctx, cfg)
	if err != nil {
		return err
	}
	fault := verdict.Fault()
	return l.judged(verdict, fault, func() error { return l.printSwarm(verdict, fault == nil) })
}

// logRows is what became of the log.
func logRows(v *goals.Verdict, members int) []string {
	if v == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("goals\t%d\tacknowledged by nodes of the log flags, %d of which decide", v.Goals, members),
		fmt.Sprintf("  took\t%s\tms from the first request until the acknowledgement", v.Took),
		fmt.Sprintf("  lost\t%d\tacknowledged, and not in the log", v.Lost),
		fmt.Sprintf("  doubled\t%d\texecuted twice", v.Doubled),
		fmt.Sprintf("  unanswered\t%d\tin the end", v.Unanswered),
		fmt.Sprintf("log leaders killed\t%d", v.Kills),
		fmt.Sprintf("  goes on\t%s\tms from the kill until a goal was acknowledged that was submitted later", v.Again),
		fmt.Sprintf("disks lost\t%d\tof members, whose store was deleted", v.Wiped),
		fmt.Sprintf("  admitted\t%s\tms from the start until it decided again, with a new store and all entries", v.Admitted),
		fmt.Sprintf("joined\t%s\tms from the start until a node from nothing had all entries", v.Joined),
		fmt.Sprintf("copies\t%d\t%s up to entry %d, as conch log verify has it", v.Copies, map[bool]string{true: "equal", false: "NOT EQUAL"}[v.Equal], v.Index),
	}
}

// worldRows is what became of the log in Prolog, beside what it shares with the other one.
func worldRows(v *goals.Verdict) []string {
	if v == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("goals in Prolog\t%d\tacknowledged by nodes of the log world", v.Goals),
		fmt.Sprintf("  took\t%s\tms from the first request until the acknowledgement", v.Took),
		fmt.Sprintf("  lost\t%d", v.Lost), fmt.Sprintf("  doubled\t%d", v.Doubled), fmt.Sprintf("  unanswered\t%d", v.Unanswered),
		fmt.Sprintf("copies\t%d\t%s up to entry %d", v.Copies, map[bool]string{true: "equal", false: "NOT EQUAL"}[v.Equal], v.Index),
	}
}

func (l lab) printSwarm(v swarm.Verdict, whole bool) error {
	rows := []string{
		fmt.Sprintf("nodes\t%d\tof which %d are electors", v.Nodes, v.Electors),
		fmt.Sprintf("cold start\t%.1f\tms from the last start until all named one leader: %.1f rounds", v.Cold, v.ColdRounds),
		fmt.Sprintf("leaders killed\t%d", v.Kills),
		fmt.Sprintf("  replaced\t%s\tms from the kill until all living nodes named another", v.Replaced),
		fmt.Sprintf("others killed\t%d\ta tenth of the nodes at once, and members of the log", v.Crashed),
		fmt.Sprintf("partitions\t%d", v.Partitions),
		fmt.Sprintf("  silent\t%s\tms until nobody on the smaller side named a leader", v.Silent),
		fmt.Sprintf("  healed\t%s\tms until all named one again", v.Healed),
		fmt.Sprintf("news\t%d\tpieces, which nodes that were there and connected had to hear %d times", v.News, v.Heard),
		fmt.Sprintf("  heard\t%s\tms after it was told", v.NewsTook),
		fmt.Sprintf("  lost\t%d", v.Lost), fmt.Sprintf("  doubled\t%d", v.Doubled),
		fmt.Sprintf("deposed\t%d\tleaders that worked", v.Deposed),
		fmt.Sprintf("two named\t%.1f\tms at most, in which two nodes named two leaders", v.TwoNamed),
		fmt.Sprintf("two led\t%.1f\tms at most", v.TwoLed),
	}
	rows = append(rows, logRows(v.Log, v.Electors)...)
	rows = append(rows, worldRows(v.World)...)
	rows = append(rows,
		fmt.Sprintf("demo late\t%.1f\tms at most: the machine was so busy", v.Late),
	)
	if err := l.Table("", rows); err != nil {
		return err
	}
	if err := l.violated(v.Violations); err != nil {
		return err
	}
	if v.Slow() {
		if err := l.Line("\nThe machine was too busy for %d nodes, so times are longer than they would be: take fewer with --nodes.", v.Nodes); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	err := l.Line("\nAll nodes name %s. No leader that worked was deposed, each that was killed was replaced in all views,\n"+
		"and each piece of news was heard once. It is a hint all the same: two nodes named two leaders for up to %.1f ms.", v.Leader, v.TwoNamed)
	if err != nil || v.Log == nil {
		return err
	}
	return l.Line("Each of the %d goals that were acknowledged is in the log once, and all %d copies of it are equal.", v.Log.Goals, v.Log.Copies)
}
