//go:build unix

package members

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
	"github.com/conchhq/conch/internal/fleet"
)

// EtcdName is the file name of the program that runs etcd, and EtcdEnv the environment variable with its path.
const (
	EtcdName = "conch-etcd"
	EtcdEnv  = "CONCH_ETCD"
)

// FindEtcd returns the path of the program, or "" if there is none.
func FindEtcd(program string) string { return beside.Named(EtcdEnv, program, EtcdName) }

// EtcdBuild says how to get the program.
const EtcdBuild = "\"bench/peers/build.sh etcd\" in the source of conch makes it, beside bin/conch"

// EtcdLoad is what a run of etcd measures.
type EtcdLoad struct {
	Dir               string // an empty folder, on the disk that is measured
	Members, Value    int    // Value: bytes that a put has
	Clients           []int  // that put at the same time, one number after the other
	Runs              int    // of each number
	Slice, Rest       time.Duration
	Watchers, Watched int // clients that watch, and puts that they see
	Kills             int
}

// EtcdLine is one thing that a run has found.
type EtcdLine struct {
	Kind      string    `json:"kind"`
	Clients   int       `json:"clients"`
	Rate      float64   `json:"rate"`
	Processor float64   `json:"processor"`
	Took      []float64 `json:"took_ms"`
	Bytes     float64   `json:"bytes"`
}

// The kinds of lines of etcd.
const (
	EtcdPuts    = "puts"    // of so many Clients: Rate in a second, µs of a Processor for each, and how long each Took
	EtcdWatches = "watches" // of one put: how long it took until each watcher saw it
	EtcdRested  = "rest"    // Bytes that all members send in a second, and ms of a Processor
	EtcdKilled  = "kill"    // the leader; how long it took until a put was committed
)

// RunEtcd runs the program once and passes on what it finds.
func RunEtcd(ctx context.Context, program string, l EtcdLoad, tell func(EtcdLine)) error {
	args := []string{"cluster", "--dir", l.Dir, "--clients", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.Clients)), ","), "[]")}
	for _, number := range []struct {
		flag string
		n    int
	}{
		{"--members", l.Members}, {"--value", l.Value}, {"--runs", l.Runs}, {"--watchers", l.Watchers}, {"--watched", l.Watched}, {"--kills", l.Kills},
	} {
		args = append(args, number.flag, strconv.Itoa(number.n))
	}
	args = append(args, "--slice", l.Slice.String(), "--rest", l.Rest.String())
	return fleet.Run(ctx, program, args, func(_ int, line EtcdLine) { tell(line) })
}
