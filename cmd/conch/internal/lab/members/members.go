//go:build unix

// Package members runs conch-members, which measures other libraries of the kind of gossip, and conch-etcd, which measures a cluster
// of etcd, as processes that die with this program.
package members

import (
	"context"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
	"github.com/conchhq/conch/internal/fleet"
)

// Name is the program's file name, and EnvProgram the environment variable with its path.
const (
	Name       = "conch-members"
	EnvProgram = "CONCH_MEMBERS"
)

// Find returns the path of the program, or "" if there is none.
func Find(program string) string { return beside.Named(EnvProgram, program, Name) }

// Build says how to get the program.
const Build = "\"bench/peers/build.sh members\" in the source of conch makes it, beside bin/conch"

// Libraries that the program measures.
const (
	Memberlist = "memberlist"
	Serf       = "serf"
)

// Load is what a run measures.
type Load struct {
	Nodes, Times int           // members, and how many are killed or events published
	Settle, Rest time.Duration // from when all know of each other, and how long is counted then
}

// Line is one thing that a run has found.
type Line struct {
	Kind     string    `json:"kind"`
	Took     []float64 `json:"took_ms"`
	Missed   int       `json:"missed"`
	Messages int64     `json:"messages"`
	Bytes    int64     `json:"bytes"`
}

// The kinds of lines.
const (
	Cold    = "cold"    // all know of each other; Took has one time
	Resting = "resting" // the rest is counted from here
	Rested  = "rest"    // until here; Messages and Bytes of all, in Seconds
	Crash   = "crash"   // the last one knows of it; Took has one time
	News    = "news"    // an event; Took has a time of each other member that has heard it, Missed counts the others
)

// Run runs the program once and passes on what it finds, with its process number.
func Run(ctx context.Context, program, library string, l Load, tell func(pid int, l Line)) error {
	return fleet.Run(ctx, program, []string{
		library, "--nodes", strconv.Itoa(l.Nodes), "--times", strconv.Itoa(l.Times), "--settle", l.Settle.String(), "--rest", l.Rest.String(),
	}, tell)
}
