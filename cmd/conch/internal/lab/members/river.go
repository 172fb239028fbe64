//go:build unix

package members

import (
	"context"
	"strconv"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
	"github.com/conchhq/conch/internal/fleet"
)

// RiverName is the file name of the program that runs River, and RiverEnv the environment variable with its path.
const (
	RiverName = "conch-river"
	RiverEnv  = "CONCH_RIVER"
)

// FindRiver returns the path of the program, or "" if there is none.
func FindRiver(program string) string { return beside.Named(RiverEnv, program, RiverName) }

// RiverBuild says how to get the program.
const RiverBuild = "\"bench/peers/build.sh river\" in the source of conch makes it, beside bin/conch"

// RiverLoad is what a run of River measures.
type RiverLoad struct {
	URL            string // of the database, in which its tables are made
	Jobs           int    // that do nothing
	Workers, Slots int    // clients that work, and how many jobs each has at a time
	Singles        int    // jobs one by one, at rest
}

// RiverLine is one thing that a run has found.
type RiverLine struct {
	Kind      string    `json:"kind"`
	Rate      float64   `json:"rate"`       // jobs a second
	InsertWAL float64   `json:"insert_wal"` // bytes of a job
	WorkWAL   float64   `json:"work_wal"`
	Processor float64   `json:"processor"` // µs of one that the program takes for a job
	Took      []float64 `json:"took_ms"`   // from the commit of a job until it was called
}

// The kinds of lines of River.
const (
	RiverWorked = "work"
	RiverCalled = "called"
)

// RunRiver runs the program once and passes on what it finds.
func RunRiver(ctx context.Context, program string, l RiverLoad, tell func(RiverLine)) error {
	args := []string{"--url", l.URL}
	for _, number := range []struct {
		flag string
		n    int
	}{{"--jobs", l.Jobs}, {"--workers", l.Workers}, {"--slots", l.Slots}, {"--singles", l.Singles}} {
		args = append(args, number.flag, strconv.Itoa(number.n))
	}
	return fleet.Run(ctx, program, args, func(_ int, line RiverLine) { tell(line) })
}
