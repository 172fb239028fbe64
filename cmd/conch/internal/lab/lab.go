// Package lab is the laboratory of conch: the commands demo, chaos, bench and sim, which
// show and measure what conch does, and the rooms below that do their work.
//
//	demo      the leader is killed over and over, and nobody acts twice
//	chaos     a nemesis goes through the faults of a seed
//	bench     figures, each beside the raw ceiling of the same run
//	evidence  the judge: it decides from what was left behind, and believes nobody
//	          who took part; explorer and pgaccount tell it what a chain and its
//	          tables hold
//
// A process that they start is a worker, under a fleet. The rest makes a world for them:
// devnode is a private chain, payer sends transactions to it, pgledger is what a worker
// writes to, pgrogue misbehaves in Postgres, and pgraw is Postgres without conch.
//
// The laboratory stands beside the product. It may use every room of the product, and no
// room of the product knows it: the main function alone hands its commands to package
// cli. So conch without its laboratory is conch with one argument less. Tests may call
// the judges, and nothing else that is in here.
package lab

import (
	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// lab makes commands that work with a shell.
type lab struct{ *cli.Shell }

// Commands are those of the laboratory, hidden ones included.
func Commands(s *cli.Shell) []*cobra.Command {
	l := lab{s}
	return append(l.experiments(), l.sim())
}
