//go:build unix

package keeper

import (
	"errors"
	"os"
	"time"
)

// Hidden commands of the conch binary: the keeper's process, and the first
// process inside a namespace of its own.
const (
	Command     = "keeper"
	InitCommand = "keeper-init"
)

// NoCgroup in the environment of a keeper makes it do without a control group.
const NoCgroup = "CONCH_NO_CGROUP"

// signalled is what shells add to a signal's number to make an exit code.
const signalled = 128

// sigkill is SIGKILL, the same number on every Unix.
const sigkill = 9

// ErrIsolate says that the kernel gives us no PID namespace.
var ErrIsolate = errors.New("--isolate needs a PID namespace, and this process may make none: " +
	"run it with CAP_SYS_ADMIN, allow unprivileged user namespaces, or leave --isolate out")

// Options is what a keeper's process is told when it starts.
type Options struct {
	Command []string      // what to run, and its arguments
	Grace   time.Duration // see Settings
	Group   int           // the process group that the command joins; 0: one of its own
	Isolate bool          // in a PID namespace of its own
}

// Config describes a command to be kept.
type Config struct {
	Options
	Env                   []string
	Stdin, Stdout, Stderr *os.File
	// Report is called in order from one goroutine; the last report is Empty.
	Report func(Report)
}
