//go:build unix

package assemble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// command is a role that is a process tree under a keeper: as conch run, without a
// terminal, and one of several in this process.
type command struct {
	node *Node
	role config.Role
	door fence.Door
}

func (n *Node) command(r config.Role, door fence.Door) work {
	return command{node: n, role: r, door: door}.lead
}

// lead runs the command until leadership ends or the command does. It returns only
// when nothing of it is left: then, and only then, may the scope be released.
func (c command) lead(ctx context.Context, l election.Leadership) error {
	var end keeper.Report
	var why error
	note := func(r keeper.Report) {
		switch r.Kind {
		case keeper.Running:
			c.log(slog.LevelInfo, "the command runs", l, slog.Int("pid", r.PID))
		case keeper.Unstarted:
			why = fmt.Errorf("the command can not be started: %s", r.Error)
		case keeper.Gone:
			end = r
		case keeper.Overdue:
			c.log(slog.LevelError, "THE COMMAND OUTLIVES ITS DEADLINE: something of it can not be killed; leadership is not released before it is gone", l)
		case keeper.Abandoned:
			why = errors.New("the keeper of the command was killed, and the command with it")
		case keeper.Empty:
		}
	}
	env := append(os.Environ(), "CONCH_SCOPE="+l.Token.Scope, fmt.Sprintf("CONCH_EPOCH=%d", l.Token.Epoch),
		"CONCH_TERM="+l.Token.Term.String(), "CONCH_ID="+c.node.id)
	if url := c.node.cfg.Database.URL; url != "" {
		env = append(env, "CONCH_DB_URL="+url)
	}
	lease := c.role.Lease
	if lease == 0 {
		lease = defaultLease
	}
	// No stdin: several roles can not share one. Both outputs are the node's own.
	k, err := keeper.Keep(keeper.Config{
		Options: keeper.Options{Command: c.role.Command, Grace: lease / 4},
		Env:     env, Stdout: os.Stdout, Stderr: os.Stderr, Report: note,
	})
	if err != nil {
		return fmt.Errorf("the keeper of the command can not be started: %w", err)
	}
	c.attend(ctx, l.Gate, k)
	if ctx.Err() == nil && why == nil {
		why = judge(end)
	}
	return why
}

// judge says why a command ended that leadership did not end.
func judge(end keeper.Report) error {
	switch {
	case end.Cause == keeper.Late:
		return errors.New("the command was ended: no heartbeat came in time")
	case end.Signal != 0:
		return fmt.Errorf("the command was ended by signal %d", end.Signal)
	case end.Code != 0:
		return fmt.Errorf("the command ended with code %d", end.Code)
	}
	return nil
}

// defaultLease is the elector's.
const defaultLease = 3 * time.Second

// attend hands the keeper every new deadline while leadership lasts, tells it when
// that is over, and waits for the end of the tree.
func (c command) attend(ctx context.Context, gate *fence.Gate, k *keeper.Keeper) {
	var telling sync.WaitGroup
	telling.Go(func() {
		var last fence.Instant
		for {
			moved := gate.Moved()
			if at, open := gate.Deadline(c.door); open && at != last {
				last = at
				k.Deadline(at)
			}
			select {
			case <-moved:
				continue
			case <-k.Done():
				return
			case <-ctx.Done():
			}
			break
		}
		// A little less than the drain may take, so that it is over in time.
		k.End(c.role.DrainTimeout - c.role.DrainTimeout/10)
		select {
		case <-k.Done():
		case <-c.node.hurry.Done():
			k.Kill()
		}
	})
	<-k.Done()
	telling.Wait()
}

func (c command) log(level slog.Level, text string, l election.Leadership, attrs ...slog.Attr) {
	attrs = append([]slog.Attr{slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch)}, attrs...)
	c.node.log.LogAttrs(context.Background(), level, text, attrs...)
}
