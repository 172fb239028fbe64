//go:build unix

package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// endGrace is how long the output of a program that has ended is waited for.
const endGrace = 5 * time.Second

// Run runs a program that dies with this one, and passes on each line of JSON that it prints, with its process number. A program
// that fails, or prints anything else, is an error.
func Run[L any](ctx context.Context, program string, args []string, tell func(pid int, l L)) error {
	launcher := NewLauncher()
	defer launcher.Close()
	cmd := exec.CommandContext(ctx, program, args...)
	words := &LastLine{}
	out := &lines[L]{program: filepath.Base(program), tell: func(l L) { tell(cmd.Process.Pid, l) }}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, words, endGrace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := launcher.Start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s %s: %w: %s", program, args[0], err, words)
	}
	return out.fault
}

// lines splits an output into lines.
type lines[L any] struct {
	program string
	tell    func(L)
	rest    []byte // an incomplete line
	fault   error
}

// Write never fails.
func (o *lines[L]) Write(b []byte) (int, error) {
	o.rest = append(o.rest, b...)
	for {
		text, rest, whole := bytes.Cut(o.rest, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		o.rest = rest
		var l L
		if err := json.Unmarshal(text, &l); err != nil {
			o.fault = fmt.Errorf("%s prints %.80q, which is no line of its: %w", o.program, text, err)
			continue
		}
		o.tell(l)
	}
}
