//go:build unix

// Package members runs conch-members, which measures other libraries of the kind of gossip, as a process that dies with
// this program.
package members

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// Name is the program's file name, and EnvProgram the environment variable with its path.
const (
	Name       = "conch-members"
	EnvProgram = "CONCH_MEMBERS"
)

// Find returns the path of the program, or "" if there is none.
func Find(program string) string { return fleet.Find(program, Name, EnvProgram) }

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
	Seconds  float64   `json:"seconds"`
}

// The kinds of lines.
const (
	Cold    = "cold"    // all know of each other; Took has one time
	Resting = "resting" // the rest is counted from here
	Rested  = "rest"    // until here; Messages and Bytes of all, in Seconds
	Crash   = "crash"   // the last one knows of it; Took has one time
	News    = "news"    // an event; Took has a time of each other member that has heard it, Missed counts the others
)

const endGrace = 5 * time.Second

// Run runs the program once and passes on what it finds, with its process number.
func Run(ctx context.Context, program, library string, l Load, tell func(pid int, l Line)) error {
	launcher := fleet.NewLauncher()
	defer launcher.Close()
	cmd := exec.CommandContext(ctx, program, library, "--nodes", strconv.Itoa(l.Nodes), "--times", strconv.Itoa(l.Times),
		"--settle", l.Settle.String(), "--rest", l.Rest.String())
	words := &fleet.LastLine{}
	out := &lines{tell: func(line Line) { tell(cmd.Process.Pid, line) }}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, words, endGrace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := launcher.Start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s %s: %w: %s", program, library, err, words)
	}
	return out.fault
}

// lines splits an output into lines.
type lines struct {
	tell  func(Line)
	rest  []byte // an incomplete line
	fault error
}

// Write never fails.
func (o *lines) Write(b []byte) (int, error) {
	o.rest = append(o.rest, b...)
	for {
		text, rest, whole := bytes.Cut(o.rest, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		o.rest = rest
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			o.fault = fmt.Errorf("%s prints %.80q, which is no line of its: %w", Name, text, err)
			continue
		}
		o.tell(l)
	}
}
