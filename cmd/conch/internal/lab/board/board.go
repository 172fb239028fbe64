//go:build unix

package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
)

// Shape is the size of a board, and how its members are started.
type Shape struct {
	Program, Command string // the binary, and its command that calls RunChild
	Dir              string // an empty folder, on the disk that is measured
	Members          int
	Bare             bool // the library's core alone
	Prolog           bool // its goals are in Prolog
	Followers        int  // in this process
}

// Board is the members of a log. Its methods are called by one goroutine.
type Board struct {
	shape     Shape
	launcher  *fleet.Launcher
	members   []*Member
	followers *followers
}

// Open starts the members of a new log, and its followers, and waits until one of them leads. The caller closes the board, also
// after an error.
func Open(ctx context.Context, s Shape) (*Board, error) {
	b := &Board{shape: s, launcher: fleet.NewLauncher()}
	all, genesis, err := s.prepare(ctx)
	if err != nil {
		return b, err
	}
	for _, one := range all[:s.Members] {
		m := &Member{board: b, name: one.Name, file: one.Store + ".json"}
		b.members = append(b.members, m)
		text, err := json.Marshal(one)
		if err != nil {
			return b, err
		}
		if err := os.WriteFile(m.file, text, 0o600); err != nil {
			return b, err
		}
		if err := m.start(); err != nil {
			return b, err
		}
	}
	if b.followers, err = follow(ctx, all[s.Members:], genesis); err != nil {
		return b, err
	}
	_, err = b.Leader(ctx)
	return b, err
}

// Leader waits until a member leads, and returns it.
func (b *Board) Leader(ctx context.Context) (leader *Member, err error) {
	err = b.until(ctx, "a member leads", func() bool {
		for _, m := range b.members {
			if s, err := m.Status(); err == nil && s.Leads {
				leader = m
			}
		}
		return leader != nil
	})
	return leader, err
}

// Other returns a member that runs, and is not that one.
func (b *Board) Other(than *Member) *Member {
	for _, m := range b.members {
		if m != than && m.clerk != nil {
			return m
		}
	}
	return nil
}

// PIDs returns the processes of all members.
func (b *Board) PIDs() (pids []int) {
	for _, m := range b.members {
		pids = append(pids, m.process.PID())
	}
	return pids
}

// Sent returns what the members that run have sent to each other since they began.
func (b *Board) Sent() (all Tally, err error) {
	for _, m := range b.members {
		s, err := m.Status()
		if err != nil {
			return all, err
		}
		all.Messages, all.Bytes = all.Messages+s.Sent.Messages, all.Bytes+s.Sent.Bytes
	}
	return all, nil
}

// Agree waits until one member leads, and all have come as far as it has.
func (b *Board) Agree(ctx context.Context) error {
	return b.until(ctx, "all members have the same log", func() bool {
		led, at := false, map[txlog.Position]bool{}
		for _, m := range b.members {
			s, err := m.Status()
			if err != nil {
				return false
			}
			at[s.Position], led = true, led || s.Leads
		}
		return led && len(at) == 1
	})
}

// Close ends all members and followers. The error says why a follower has ended before.
func (b *Board) Close() error {
	err := b.followers.close()
	for _, m := range b.members {
		m.Kill()
		m.wait()
	}
	b.launcher.Close()
	return err
}

// until waits until something is so.
func (b *Board) until(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("after a minute it is not so that %s", what))
	defer cancel()
	for !is() {
		if err := pause.For(ctx, 10*time.Millisecond); err != nil {
			return errors.Join(context.Cause(ctx), b.lastWords())
		}
	}
	return nil
}

// lastWords returns why members have ended that were to run.
func (b *Board) lastWords() (all error) {
	for _, m := range b.members {
		if m.clerk != nil && m.process.LastWords() != "" {
			all = errors.Join(all, fmt.Errorf("%s: %s", m.name, m.process.LastWords()))
		}
	}
	return all
}
