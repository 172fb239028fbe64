//go:build unix

package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
)

// runner runs the commands of jobs, each under a keeper.
type runner struct {
	frame node.Frame
	grace time.Duration // see keeper.Settings
	drain time.Duration
}

func newRunner(f node.Frame, grace, drain time.Duration) schedule.Runner {
	return &runner{f, grace, drain}
}

const (
	mostSaid = 4 << 10     // bytes that a command has written to stderr last
	tailWait = time.Second // for what a command has written, once it is gone
)

// Run implements schedule.Runner. What the command writes to stdout is its result, if it is JSON.
func (r *runner) Run(ctx context.Context, command []string, stdin []byte, t *schedule.Task) (exit schedule.Exit, err error) {
	in, err := input(stdin)
	if err != nil {
		return exit, err
	}
	defer func() { _ = in.Close() }()
	out, err := collect(schedule.MostResult + 1)
	if err != nil {
		return exit, err
	}
	defer out.close()
	said, err := collect(mostSaid)
	if err != nil {
		return exit, err
	}
	defer said.close()
	outcome := keeper.Outcome{Log: r.frame.Log.With(slog.Int64("job", t.ID), slog.Int("attempt", t.Attempt))}
	k, err := keeper.Keep(keeper.Config{
		Options: keeper.Options{Command: command, Grace: r.grace}, Env: r.environ(t), Stdin: in, Stdout: out.theirs, Stderr: said.theirs, Report: outcome.Note,
	})
	if err != nil {
		return exit, fmt.Errorf("the keeper of the command cannot be started: %w", err)
	}
	unhurried := context.AfterFunc(r.frame.Hurry, k.Kill)
	defer unhurried()
	k.Follow(ctx, election.Leadership{Gate: t.Gate}, fence.Fenced, keeper.CommandTime(r.drain))
	exit.Code = outcome.Code()
	if err := outcome.Err(); err != nil {
		exit.Says = strings.TrimSpace(strings.ToValidUTF8(string(said.last()), "?"))
		coded := outcome.Exit != nil && outcome.Exit.Signal == 0 && !errors.Is(err, keeper.ErrLate)
		if !coded || exit.Says == "" { // the code itself is said anyway
			exit.Says = strings.TrimSpace(err.Error() + "\n" + exit.Says)
		}
	}
	if text := bytes.TrimSpace(out.last()); json.Valid(text) {
		exit.Result = text
	}
	return exit, unbegun(&outcome)
}

// unbegun returns an error for a command that has not begun. Its code is 0, as if it had done its work; but it was asked to end before.
func unbegun(o *keeper.Outcome) error {
	switch {
	case o.Unstarted != nil:
		return o.Err()
	case o.Exit == nil && !o.KeeperDied:
		return fmt.Errorf("%w: the command was asked to end before it began", schedule.ErrLater)
	}
	return nil
}

// environ is what a command gets: conch's own environment, what it is told of its job, and of the leadership that has added that.
func (r *runner) environ(t *schedule.Task) []string {
	url, hidden := cli.CommandDatabase("", r.frame.Database.URL)
	env := append(slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains(hidden, name)
	}), "CONCH_ID="+r.frame.ID, "CONCH_SCOPE="+t.Scope, fmt.Sprintf("CONCH_EPOCH=%d", t.Epoch))
	if url != "" {
		env = append(env, "CONCH_DB_URL="+url)
	}
	return append(env, t.Environ()...)
}

// input is a file without a name that has a text.
func input(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "conch-job-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.Write(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// collected is what a command writes, as much of the end of it as is kept.
type collected struct {
	ours, theirs *os.File
	most         int
	text         []byte
	over         chan struct{}
}

func collect(most int) (*collected, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &collected{ours: ours, theirs: theirs, most: most, over: make(chan struct{})}
	go func() {
		defer close(c.over)
		_, _ = io.Copy(c, ours)
	}()
	return c, nil
}

// Write implements io.Writer.
func (c *collected) Write(b []byte) (int, error) {
	c.text = append(c.text, b...)
	c.text = c.text[max(len(c.text)-c.most, 0):]
	return len(b), nil
}

// last returns what was written, once the command is gone. What has escaped it may hold its end open.
func (c *collected) last() []byte {
	_ = c.theirs.Close()
	_ = c.ours.SetReadDeadline(time.Now().Add(tailWait))
	<-c.over
	return c.text
}

func (c *collected) close() {
	c.last()
	_ = c.ours.Close()
}
