//go:build unix

// Package devnode runs conch-devnode, an Ethereum node with a private chain, as a process that
// dies with this program.
package devnode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// Name is the program's file name.
const Name = "conch-devnode"

const (
	patience = 30 * time.Second // on an idle machine it takes a fraction of a second
	endGrace = 5 * time.Second
)

// EnvProgram is the environment variable with the path of the program.
const EnvProgram = "CONCH_DEVNODE"

// Find returns the path of the program: the value of EnvProgram, or a file beside the given
// program, or on the PATH; "" if there is none.
func Find(program string) string { return fleet.Find(program, Name, EnvProgram) }

// Node is a running devnode. Its exported fields do not change.
type Node struct {
	HTTP       string `json:"http"`
	WS         string `json:"ws"`
	ChainID    uint64 `json:"chain_id"`
	Account    string `json:"account"`
	PrivateKey string `json:"private_key"` // worthless, but treated as a secret

	launcher *fleet.Launcher
	cmd      *exec.Cmd
	words    *fleet.LastLine
	gone     chan struct{}
}

// Start runs the program with the flags on a free local port until Stop. ctx bounds the start
// only.
func Start(ctx context.Context, program string, args ...string) (*Node, error) {
	n := &Node{launcher: fleet.NewLauncher(), words: &fleet.LastLine{}, gone: make(chan struct{})}
	// No context: Stop ends it.
	n.cmd = exec.CommandContext(context.Background(), program,
		append([]string{"--listen", "127.0.0.1:0", "--parent", strconv.Itoa(os.Getpid())}, args...)...)
	n.cmd.Stderr, n.cmd.WaitDelay = n.words, endGrace
	first := make(opening, 1)
	n.cmd.Stdout = &first
	err := n.launcher.Start(n.cmd)
	if err != nil {
		n.launcher.Close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		defer close(n.gone) // at most endGrace after its end, even if another process has its output
		_ = n.cmd.Wait()    // its last words say how it failed
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err = errors.New("it prints nothing")
	select {
	case line := <-first:
		err = n.hear(line)
	case <-n.gone:
		err = errors.New("it has ended")
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
	}
	if err != nil {
		n.Stop()
		return nil, fmt.Errorf("%s does not become ready: %w; it says: %s", program, err, n.words)
	}
	return n, nil
}

// opening keeps the first line of an output; the node writes that line at once.
type opening chan []byte

// Write never fails.
func (o *opening) Write(b []byte) (int, error) {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	select {
	case *o <- bytes.Clone(line):
	default:
	}
	return len(b), nil
}

// hear parses the line that says that the chain is ready.
func (n *Node) hear(line []byte) error {
	if err := json.Unmarshal(line, n); err != nil || n.HTTP == "" || n.PrivateKey == "" {
		return errors.New("it does not say where it listens") // the line is not quoted: it holds a key
	}
	return nil
}

// Gone is closed when the process has ended, by Stop or by itself.
func (n *Node) Gone() <-chan struct{} { return n.gone }

// PID returns the process number.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// LastWords returns the last line on stderr.
func (n *Node) LastWords() string { return n.words.String() }

// Stop ends the process, in order if possible.
func (n *Node) Stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-n.gone:
	case <-timer.C:
		_ = n.cmd.Process.Kill()
		<-n.gone
	}
	n.launcher.Close()
}

// Format omits the key, whatever the verb.
func (n *Node) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%s at %s", Name, n.HTTP) }
