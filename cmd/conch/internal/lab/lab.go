// Package lab is the laboratory of conch: the commands demo, chaos, bench and sim, which show
// and measure what conch does, and the packages that do their work.
//
//	demo      kills the leader over and over and shows that nobody acts twice
//	chaos     a nemesis injects the faults that a seed plans
//	bench     measures each figure beside the raw ceiling of the same run
//	sim       simulates elections; committee, crowd and bulletin beside or below it are the worlds
//	          of the sequencer, of gossip and of the log
//	evidence  judges what a run left behind and trusts none of its processes; explorer and
//	          pgaccount read the chain and the tables for it
//
// The processes that they start are workers in a fleet. The other packages are what workers
// and benches need: devnode runs a private chain, payer sends transactions to it, pgledger is
// the table that workers write, pgrogue misbehaves in Postgres, and pgraw is Postgres without
// conch.
//
// The laboratory may import every package of the product. No package of the product imports
// it: only main hands its commands to package cli, in one argument, so conch without its
// laboratory is conch without that argument. Tests of the product may call the judges only.
package lab

import (
	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// lab makes the commands, which print to a shell.
type lab struct{ *cli.Shell }

// Commands returns the commands of the laboratory, hidden ones included.
func Commands(s *cli.Shell) []*cobra.Command {
	l := lab{s}
	return append(l.experiments(), l.sim())
}
