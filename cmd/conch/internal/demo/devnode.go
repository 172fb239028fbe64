//go:build unix

package demo

import (
	"bufio"
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

	"github.com/conchhq/conch/cmd/conch/internal/fleet"
)

// DevnodeName is the program that runs the private chain.
const DevnodeName = "conch-devnode"

const (
	devnodePatience = 30 * time.Second // it takes a fraction of a second where nothing else runs
	blockTime       = "200ms"
)

// FindDevnode looks for the chain's program beside this one, then on the PATH; "" if
// it is nowhere.
func FindDevnode(program string) string {
	beside := filepath.Join(filepath.Dir(program), DevnodeName)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside
	}
	found, err := exec.LookPath(DevnodeName)
	if err != nil {
		return ""
	}
	return found
}

// devnode is the private chain, a process that dies with this one.
type devnode struct {
	launcher *fleet.Launcher
	cmd      *exec.Cmd
	words    *fleet.LastLine
	gone     chan struct{}
	// What it says when it is ready.
	url     string
	chainID uint64
	key     string // worthless, and treated as if it were not
}

// startDevnode runs the chain on a free port of this machine. Folders that it makes for
// itself, which it can not remove when it is killed with us, are made in dir.
func startDevnode(ctx context.Context, program, dir string) (*devnode, error) {
	d := &devnode{launcher: fleet.NewLauncher(), words: &fleet.LastLine{}, gone: make(chan struct{})}
	// No context: it ends by stop.
	d.cmd = exec.CommandContext(context.Background(), program,
		"--listen", "127.0.0.1:0", "--block-time", blockTime, "--parent", strconv.Itoa(os.Getpid()))
	d.cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	d.cmd.Stderr, d.cmd.WaitDelay = d.words, teardown
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.launcher.Start(d.cmd)
	}
	if err != nil {
		d.launcher.Close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	first := make(chan []byte, 1)
	go func() {
		defer close(d.gone)
		line, _ := bufio.NewReader(out).ReadBytes('\n') // how it failed is in its words
		first <- line
		_ = d.cmd.Wait()
	}()
	timer := time.NewTimer(devnodePatience)
	defer timer.Stop()
	err = errors.New("it says nothing")
	select {
	case line := <-first:
		err = d.hear(line)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
	}
	if err != nil {
		d.stop()
		return nil, fmt.Errorf("%s does not become ready: %w %s", program, err, d.words)
	}
	return d, nil
}

// hear takes the line that says that the chain is ready.
func (d *devnode) hear(line []byte) error {
	var said struct {
		HTTP    string `json:"http"`
		ChainID uint64 `json:"chain_id"`
		Key     string `json:"private_key"`
	}
	if err := json.Unmarshal(line, &said); err != nil || said.HTTP == "" || said.Key == "" {
		return errors.New("it does not say where it listens") // its line is not repeated: a key is in it
	}
	d.url, d.chainID, d.key = said.HTTP, said.ChainID, said.Key
	return nil
}

// stop ends it, in order if it can.
func (d *devnode) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(teardown)
	defer timer.Stop()
	select {
	case <-d.gone:
	case <-timer.C:
		_ = d.cmd.Process.Kill()
		<-d.gone
	}
	d.launcher.Close()
}
