// Package lab is the laboratory of conch: the commands demo, chaos, bench and sim, which show
// and measure what conch does, and the packages that do their work.
//
//	demo      kills the leader over and over and shows that nobody acts twice
//	chaos     a nemesis injects the faults that a seed plans
//	bench     measures each figure beside the raw ceiling of the same run
//	sim       simulates elections, contracts, gossip and logs: the worlds are in the kits of these wings
//	evidence  judges what a run left behind and trusts none of its processes; explorer and
//	          pgaccount read the chain and the tables for it
//
// The processes that they start are workers and nodes, which package stage keeps together. The other packages are what workers
// and benches need: devnode runs a private chain, payer sends transactions to it, pgledger is
// the table that workers write, pgrogue misbehaves in Postgres, and pgraw is Postgres without
// conch.
//
// They are commands of a program of their own, conch-lab, and conch hands on what its users know as commands of conch. The
// processes of an experiment are of both programs: its own workers are conch-lab, and the nodes and clients that it hurts or
// measures are the conch that users have.
//
// The laboratory may import every package of the product. No package of the product imports it, and conch links nothing of
// it. Tests of the product may call the judges only.
package lab

import (
	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// lab makes the commands, which print to a shell.
type lab struct{ *cli.Shell }

// Program is the program conch-lab, whose nodes have services of these kinds.
func Program(b cli.Build, kinds []node.Kind) cli.Program {
	return cli.Program{
		Name:  "conch-lab",
		Short: "shows, measures and simulates what conch does, and hurts it",
		Long: `conch-lab is the laboratory of conch. It shows that nobody acts twice while leaders are
killed, hurts real processes and their database by a plan, measures what conch costs,
and simulates it in worlds of faults. It runs the program conch that is beside it, or
on the PATH, and touches no database but its own.`,
		Example: `  conch-lab demo
  conch-lab chaos --faults 60
  conch-lab sim election --runs 1000`,
		Build: b, Kinds: kinds, Commands: []cli.Commands{commands},
	}
}

// commands returns the commands of the laboratory, hidden ones included.
func commands(s *cli.Shell) []*cobra.Command {
	l := lab{s}
	return append(l.experiments(), l.sim())
}
