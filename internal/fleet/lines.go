//go:build unix

package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"
)

// longestLine is longer than any line that is heard.
const longestLine = 1 << 20

// Lines returns a writer that passes on each whole line, without its end.
func Lines(tell func(line []byte)) io.Writer { return &lines{tell: tell} }

type lines struct {
	tell func([]byte)
	rest []byte // an incomplete line
}

// Write never fails.
func (o *lines) Write(b []byte) (int, error) {
	o.rest = append(o.rest, b...)
	for {
		line, rest, whole := bytes.Cut(o.rest, []byte{'\n'})
		if !whole {
			break
		}
		o.tell(bytes.Clone(line))
		o.rest = rest
	}
	if len(o.rest) > longestLine {
		o.rest = nil
	}
	return len(b), nil
}

// Output runs a command to its end and returns what it prints. The error of one that fails is its last words.
func (l *Launcher) Output(ctx context.Context, program string, args, env []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out bytes.Buffer
	words := &LastLine{}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(environ(), env...), &out, words
	err := l.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil && words.String() != "" {
		err = errors.New(words.String())
	}
	return out.Bytes(), err
}

// endGrace is how long a program that is not needed any more may take to end.
const endGrace = 5 * time.Second

// Run runs a program that dies with this one, and passes on each line of JSON that it prints, with its process number. A program
// that fails, or prints anything else, is an error.
func Run[L any](ctx context.Context, program string, args []string, tell func(pid int, l L)) error {
	launcher := NewLauncher()
	defer launcher.Close()
	var fault error
	p, err := launcher.Launch(Command{Program: program, Args: args, Tell: func(n News) {
		var l L
		if n.Ended {
			return
		}
		if err := json.Unmarshal(n.Line, &l); err != nil {
			fault = fmt.Errorf("%s prints %.80q, which is no line of its: %w", filepath.Base(program), n.Line, err)
			return
		}
		tell(n.From.PID(), l)
	}})
	if err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	if err := p.Wait(ctx); err != nil {
		p.End(endGrace)
		return err
	}
	if code := p.Code(); code != 0 {
		return fmt.Errorf("%s %s ended with code %d: %s", program, args[0], code, p.LastWords())
	}
	return fault
}
