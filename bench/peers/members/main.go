// Command conch-members runs many members of memberlist, or of serf, in one process, over UDP and TCP of this machine and
// with the defaults of a local network. It says in lines of JSON how long they take to know of each other, what they send
// at rest, and when the last one knows of a crash or of an event. `conch-lab bench gossip` starts it. See ../README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conch-members:", err)
		os.Exit(1)
	}
}

const usage = "conch-members memberlist|serf [--nodes N] [--times N] [--settle D] [--rest D]"

// config is what a run measures.
type config struct {
	nodes        int           // members, those that are killed included
	times        int           // kills, or events
	settle, rest time.Duration // after all know of each other, and how long is counted
	say          func(line)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: %s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	cfg := config{}
	flags.IntVar(&cfg.nodes, "nodes", 100, "members")
	flags.IntVar(&cfg.times, "times", 5, "members killed, or events")
	flags.DurationVar(&cfg.settle, "settle", 10*time.Second, "from when all know of each other until the rest is counted")
	flags.DurationVar(&cfg.rest, "rest", 30*time.Second, "how long the rest is counted; 0: not at all")
	name, contacts := flags.String("name", "", "of the one member that is to be killed"), flags.String("join", "", "its contacts")
	_ = flags.Parse(args[1:]) // exits on an error
	if cfg.nodes < 3 {
		return fmt.Errorf("%d members are too few: 3 at least", cfg.nodes)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := json.NewEncoder(os.Stdout)
	cfg.say = func(l line) {
		if err := out.Encode(l); err != nil {
			cancel(err) // nobody reads it any more
		}
	}
	switch args[0] {
	case "memberlist":
		return crashes(ctx, cfg)
	case "serf":
		return events(ctx, cfg)
	case "victim":
		return victim(ctx, cfg, *name, strings.Split(*contacts, ","))
	default:
		return fmt.Errorf("there is no %q: %s", args[0], usage)
	}
}

// line is one thing that a run has found.
type line struct {
	Kind string `json:"kind"`
	// Took has times in ms: of cold and crash one, of news one for each other member that has heard it.
	Took     []float64 `json:"took_ms,omitempty"`
	Missed   int       `json:"missed,omitempty"` // members that have not heard an event
	Messages int64     `json:"messages,omitempty"`
	Bytes    int64     `json:"bytes,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
}

// The kinds of lines.
const (
	cold    = "cold"    // all know of each other
	resting = "resting" // from here on
	rested  = "rest"    // what all have sent since
	crash   = "crash"   // the last one knows of it
	news    = "news"    // of one event
	whole   = "whole"   // a victim knows all
)

// drawn returns a number below another one.
func drawn[N int | time.Duration](below N) N {
	return rand.N(below) //nolint:gosec // so that the same moment is not met each time, not to hide anything
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
