//go:build unix

package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/fence"
)

// word is a line that an agent in a process of its own prints.
type word struct {
	Kind     string        `json:"kind"`
	Name     string        `json:"name,omitempty"` // of the leader, or the topic
	At       fence.Instant `json:"at,omitempty"`
	Messages uint64        `json:"messages,omitempty"`
	Bytes    uint64        `json:"bytes,omitempty"`
}

// The kinds of words.
const (
	named   = "named"   // another leader, or nobody
	heard   = "heard"   // a piece of news
	counted = "counted" // what was sent so far; the answer to a line
)

// RunChild runs one agent whose settings are in a file, until stdin ends or the context does. It says on out what it
// names and hears, and answers each line of in with its counts.
func RunChild(ctx context.Context, file string, in io.Reader, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	words := make(chan word, 1024) // the bench reads at once
	a, err := s.open(func(w word) { words <- w })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			words <- a.count()
		}
		cancel()
	}()
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	lines := json.NewEncoder(out)
	for {
		select {
		case w := <-words:
			if err := lines.Encode(w); err != nil {
				return err
			}
		case err := <-ended:
			return err
		}
	}
}

// child is a process with one agent.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	words *fleet.LastLine
	gone  chan struct{} // all that it has said was read
	count chan word
}

// endGrace is how long the output of a process that has ended is waited for.
const endGrace = 5 * time.Second

// launch starts a process, and passes on what it says, and then that it has ended.
func launch(l *fleet.Launcher, program, command, file string, say func(word), over func(*child)) (*child, error) {
	c := &child{
		cmd:   exec.CommandContext(context.Background(), program, command, "--file", file), // it ends by a signal, or with us
		words: &fleet.LastLine{}, gone: make(chan struct{}), count: make(chan word, 1),
	}
	c.cmd.Stderr, c.cmd.WaitDelay = c.words, endGrace
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.Start(c.cmd); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.gone)
		c.read(out, say)
		_ = c.cmd.Wait() // we have killed it, or its last words say why
		over(c)
	}()
	return c, nil
}

// read passes on what a process says until its end.
func (c *child) read(from io.Reader, say func(word)) {
	for lines := json.NewDecoder(from); ; {
		var w word
		if lines.Decode(&w) != nil {
			return // a line that was cut off is lost with what was never said
		}
		if w.Kind != counted {
			say(w)
			continue
		}
		select {
		case c.count <- w:
		default: // nobody waits for it any more
		}
	}
}

var (
	errEnded  = errors.New("its process has ended")
	errSilent = fmt.Errorf("it has not answered in %s", patience)
)

// counts asks a process what it has sent so far.
func (c *child) counts(ctx context.Context) (word, error) {
	if _, err := c.stdin.Write([]byte("\n")); err != nil {
		return word{}, err
	}
	select {
	case w := <-c.count:
		return w, nil
	case <-c.gone:
		return word{}, errEnded
	case <-ctx.Done():
		return word{}, context.Cause(ctx)
	}
}

// kill ends a process without a word, and returns the instant.
func (c *child) kill() fence.Instant {
	at := fence.Boottime()
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	return at
}

// end waits for the end of a process that was killed.
func (c *child) end() {
	<-c.gone
	_ = c.stdin.Close()
}
