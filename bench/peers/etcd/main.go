//go:build linux

// Command conch-etcd runs a cluster of etcd, each member a process of its own with a file of its own, and says in lines of JSON what
// clients have of it: puts a second, how soon watchers have one, what the members send at rest, and how long nothing is committed
// after the leader was killed. `conch-lab bench log` starts it. See ../README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conch-etcd:", err)
		os.Exit(1)
	}
}

// config is what a run measures.
type config struct {
	program, dir      string // this binary, and an empty folder on the disk that is measured
	members, value    int    // value: bytes that a put has
	clients           []int  // that put at the same time, one number after the other
	runs              int    // of each number
	slice, rest       time.Duration
	watchers, watched int // clients that watch, and puts that they see
	kills             int
	say               func(line)
}

// line is one thing that a run has found. Times are in ms.
type line struct {
	Kind      string    `json:"kind"`
	Clients   int       `json:"clients,omitempty"`
	Rate      float64   `json:"rate,omitempty"`      // puts a second
	Processor float64   `json:"processor,omitempty"` // of all members: µs for a put, or ms in a second at rest
	Took      []float64 `json:"took_ms,omitempty"`   // of each put, of each watcher for each put, or of a kill
	Bytes     float64   `json:"bytes,omitempty"`     // that the members send each other in a second
}

// The kinds of lines.
const (
	puts    = "puts"
	watches = "watches"
	rested  = "rest"
	killed  = "kill"
)

const usage = "conch-etcd cluster|member"

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	switch args[0] {
	case "member":
		m := member{}
		flags.StringVar(&m.name, "name", "", "of the member")
		flags.StringVar(&m.dir, "dir", "", "of its files")
		flags.StringVar(&m.client, "client", "", "address for clients")
		flags.StringVar(&m.peer, "peer", "", "address for the other members")
		all := flags.String("all", "", "of the cluster: name=URL,…")
		_ = flags.Parse(args[1:]) // exits on an error
		return m.serve(ctx, *all, os.Stdin)
	case "cluster":
		cfg := config{}
		flags.StringVar(&cfg.dir, "dir", "", "an empty `folder`")
		flags.IntVar(&cfg.members, "members", 5, "of the cluster")
		flags.IntVar(&cfg.value, "value", 160, "bytes that a put has")
		clients := flags.String("clients", "1,16", "that put at the same time, one number after the other")
		flags.IntVar(&cfg.runs, "runs", 1, "of each number")
		flags.DurationVar(&cfg.slice, "slice", time.Second, "of a run")
		flags.DurationVar(&cfg.rest, "rest", time.Second, "how long the rest is counted")
		flags.IntVar(&cfg.watchers, "watchers", 0, "clients that watch a key")
		flags.IntVar(&cfg.watched, "watched", 10, "puts that they see")
		flags.IntVar(&cfg.kills, "kills", 0, "leaders that are killed")
		_ = flags.Parse(args[1:]) // exits on an error
		for text := range strings.SplitSeq(*clients, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("--clients: %q is no number of clients", text)
			}
			cfg.clients = append(cfg.clients, n)
		}
		return told(ctx, cfg)
	default:
		return fmt.Errorf("there is no %q: %s", args[0], usage)
	}
}

// told measures, and prints what it finds.
func told(ctx context.Context, cfg config) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.program, err = os.Executable(); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	cfg.say = func(l line) {
		if err := out.Encode(l); err != nil {
			cancel(err) // nobody reads it any more
		}
	}
	return measure(ctx, cfg)
}

// measure runs a cluster, and says what it finds.
func measure(ctx context.Context, cfg config) error {
	c, err := found(ctx, cfg)
	defer c.close()
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{c.put, c.rest, c.watch, c.kill} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
