// Command contender is one candidate: see package candidate. Build it with the tags one and that of a
// peer.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/conchhq/conch/bench/peers/candidate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCandidate(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		os.Exit(1)
	}
}

func runCandidate(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("candidate", flag.ExitOnError)
	cfg := candidate.Config{URL: os.Getenv("CONCH_DB_URL")}
	peer := flags.String("peer", "", "which one")
	flags.StringVar(&cfg.ID, "id", "", "its name")
	flags.StringVar(&cfg.File, "file", "", "the file outside")
	flags.DurationVar(&cfg.Pace, "pace", 5*time.Millisecond, "from one act to the next")
	flags.DurationVar(&cfg.Lease, "lease", 0, "its lease; 0: the library's defaults")
	_ = flags.Parse(args) // exits on an error
	return candidate.Run(ctx, *peer, cfg)
}
