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
	"syscall"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
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
	*fleet.Process

	count chan word
}

// launch starts a process, and passes on what it says, and then its last words.
func launch(l *fleet.Launcher, program, command, file string, say func(word), over func(last string)) (c *child, err error) {
	c = &child{count: make(chan word, 1)}
	c.Process, err = l.Launch(fleet.Command{Program: program, Args: []string{command, "--file", file}, Tell: func(n fleet.News) {
		var w word
		switch {
		case n.Ended:
			over(n.From.LastWords())
		case json.Unmarshal(n.Line, &w) != nil: // it says nothing else
		case w.Kind != counted:
			say(w)
		default:
			select {
			case c.count <- w:
			default: // nobody waits for it any more
			}
		}
	}})
	return c, err
}

var (
	errEnded  = errors.New("its process has ended")
	errSilent = fmt.Errorf("it has not answered in %s", patience)
)

// counts asks a process what it has sent so far.
func (c *child) counts(ctx context.Context) (word, error) {
	if _, err := c.Write([]byte("\n")); err != nil {
		return word{}, err
	}
	select {
	case w := <-c.count:
		return w, nil
	case <-c.Over():
		return word{}, errEnded
	case <-ctx.Done():
		return word{}, context.Cause(ctx)
	}
}

// kill ends a process without a word, and returns the instant.
func (c *child) kill() fence.Instant {
	at := fence.Boottime()
	c.Signal(syscall.SIGKILL)
	return at
}
