//go:build unix

// Package devnode runs conch-devnode, an Ethereum node with a private chain, as a process that
// dies with this program.
package devnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
	"github.com/conchhq/conch/internal/fleet"
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
func Find(program string) string { return beside.Named(EnvProgram, program, Name) }

// Node is a running devnode. Its exported fields do not change.
type Node struct {
	HTTP       string `json:"http"`
	WS         string `json:"ws"`
	ChainID    uint64 `json:"chain_id"`
	PrivateKey string `json:"private_key"` // worthless, but treated as a secret

	launcher *fleet.Launcher
	process  *fleet.Process
}

// Start runs the program with the flags on a free local port until Stop. ctx bounds the start
// only.
func Start(ctx context.Context, program string, args ...string) (*Node, error) {
	n := &Node{launcher: fleet.NewLauncher()}
	n.launcher.Linger = endGrace
	said := make(chan []byte, 1)
	var err error
	n.process, err = n.launcher.Launch(fleet.Command{
		Program: program, Args: append([]string{"--listen", "127.0.0.1:0", "--parent", strconv.Itoa(os.Getpid())}, args...),
		Tell: func(news fleet.News) {
			if news.Ended {
				return
			}
			select {
			case said <- news.Line:
			default: // only the first line is heard
			}
		},
	})
	if err != nil {
		n.launcher.Close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it prints nothing"))
	defer cancel()
	select {
	case line := <-said:
		err = n.hear(line)
	case <-n.process.Over():
		err = errors.New("it has ended")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		n.Stop()
		return nil, fmt.Errorf("%s does not become ready: %w; it says: %s", program, err, n.LastWords())
	}
	return n, nil
}

// hear parses the line that says that the chain is ready.
func (n *Node) hear(line []byte) error {
	if err := json.Unmarshal(line, n); err != nil || n.HTTP == "" || n.PrivateKey == "" {
		return errors.New("it does not say where it listens") // the line is not quoted: it holds a key
	}
	return nil
}

// Gone is closed when the process has ended, by Stop or by itself.
func (n *Node) Gone() <-chan struct{} { return n.process.Over() }

// PID returns the process number.
func (n *Node) PID() int { return n.process.PID() }

// LastWords returns the last line on stderr.
func (n *Node) LastWords() string { return n.process.LastWords() }

// Stop ends the process, in order if possible.
func (n *Node) Stop() {
	n.process.End(endGrace)
	n.launcher.Close()
}

// Format omits the key, whatever the verb.
func (n *Node) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%s at %s", Name, n.HTTP) }
