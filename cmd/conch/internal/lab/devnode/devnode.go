//go:build unix

// Package devnode runs conch-devnode, an Ethereum node with a chain of its own, as the
// process that it is in demonstrations, for as long as this program lives.
package devnode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// Name is what the program is called.
const Name = "conch-devnode"

const (
	patience = 30 * time.Second // it is ready in a fraction of a second where nothing else runs
	farewell = 5 * time.Second
)

// EnvProgram names the program for whoever has it elsewhere.
const EnvProgram = "CONCH_DEVNODE"

// Find looks for the program: the file that the environment names, then beside this
// one, then on the PATH; "" if it is nowhere.
func Find(program string) string {
	if named := os.Getenv(EnvProgram); named != "" {
		return named
	}
	beside := filepath.Join(filepath.Dir(program), Name)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside
	}
	found, err := exec.LookPath(Name)
	if err != nil {
		return ""
	}
	return found
}

// Node is one that runs. What is exported does not change.
type Node struct {
	HTTP       string `json:"http"`
	WS         string `json:"ws"`
	ChainID    uint64 `json:"chain_id"`
	Account    string `json:"account"`
	PrivateKey string `json:"private_key"` // worthless, and treated as if it were not

	launcher *fleet.Launcher
	cmd      *exec.Cmd
	words    *fleet.LastLine
	gone     chan struct{}
}

// Start runs it with these flags, on a free port of this machine, until Stop. ctx bounds
// the start alone.
func Start(ctx context.Context, program string, args ...string) (*Node, error) {
	n := &Node{launcher: fleet.NewLauncher(), words: &fleet.LastLine{}, gone: make(chan struct{})}
	// No context: it ends by Stop.
	n.cmd = exec.CommandContext(context.Background(), program,
		append([]string{"--listen", "127.0.0.1:0", "--parent", strconv.Itoa(os.Getpid())}, args...)...)
	n.cmd.Stderr, n.cmd.WaitDelay = n.words, farewell
	first := make(opening, 1)
	n.cmd.Stdout = &first
	err := n.launcher.Start(n.cmd)
	if err != nil {
		n.launcher.Close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		defer close(n.gone) // at most a farewell after its end, even if another process has its output
		_ = n.cmd.Wait()    // how it failed is in its words
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err = errors.New("it says nothing")
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

// opening is an output of which the first line is kept; the node writes it at once.
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

// hear takes the line that says that the chain is ready.
func (n *Node) hear(line []byte) error {
	if err := json.Unmarshal(line, n); err != nil || n.HTTP == "" || n.PrivateKey == "" {
		return errors.New("it does not say where it listens") // its line is not repeated: a key is in it
	}
	return nil
}

// Gone is closed when it has ended, asked or not.
func (n *Node) Gone() <-chan struct{} { return n.gone }

// PID is its process.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// LastWords is the last line that it wrote to stderr.
func (n *Node) LastWords() string { return n.words.String() }

// Stop ends it, in order if it can.
func (n *Node) Stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-n.gone:
	case <-timer.C:
		_ = n.cmd.Process.Kill()
		<-n.gone
	}
	n.launcher.Close()
}

// Format leaves the key out, whatever the verb.
func (n *Node) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%s at %s", Name, n.HTTP) }
