//go:build unix

package keeper

import (
	"errors"
	"os"
	"time"
)

// Hidden commands of the conch binary: the keeper, and the first process in a PID namespace.
const (
	Command     = "keeper"
	InitCommand = "keeper-init"
)

// NoCgroup is an environment variable that makes a keeper do without a control group.
const NoCgroup = "CONCH_NO_CGROUP"

// signalBase is what shells add to a signal's number to make an exit code.
const signalBase = 128

// sigkill is SIGKILL, the same number on every Unix.
const sigkill = 9

// ErrIsolate means that this process may not create a PID namespace.
var ErrIsolate = errors.New("--isolate needs a PID namespace, which this process may not create: " +
	"run it with CAP_SYS_ADMIN, allow unprivileged user namespaces, or leave --isolate out")

// Options are what a keeper's process is told when it starts.
type Options struct {
	Command []string      // what to run, and its arguments
	Grace   time.Duration // see Settings
	Group   int           // the process group that the command joins; 0: a new one
	Isolate bool          // run the command in its own PID namespace
	User    string        // whom the command runs as; empty: the keeper's user
}

// Config describes a command for a keeper.
type Config struct {
	Options
	Env                   []string
	Stdin, Stdout, Stderr *os.File
	// Report is called in order from one goroutine; the last report is Empty.
	Report func(Report)
}
