//go:build unix

package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/disk"
)

// Shape is the size of a board, and how its members are started.
type Shape struct {
	Program, Command string // the binary, and its command that calls RunChild
	Dir              string // an empty folder, on the disk that is measured
	Members          int
	Bare             bool // the library's core alone
}

// Board is the members of a log. Its methods are called by one goroutine.
type Board struct {
	shape    Shape
	launcher *fleet.Launcher
	members  []*Member
}

// settings are what a member is started with.
type settings struct {
	Bare  bool   `json:"bare,omitempty"`
	Self  int    `json:"self"` // its place among all
	Key   string `json:"key"`  // a file, as the next one
	Store string `json:"store"`
	All   []seat `json:"all"`
}

// seat is where a member is met.
type seat struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Key     string `json:"key"` // its fingerprint
}

// Open starts the members of a new log, and waits until one of them leads. The caller closes the board, also after an error.
func Open(ctx context.Context, s Shape) (*Board, error) {
	b := &Board{shape: s, launcher: fleet.NewLauncher()}
	all, err := s.prepare(ctx)
	if err != nil {
		return b, err
	}
	for _, one := range all {
		m := &Member{board: b, name: one.All[one.Self].Name, file: one.Store + ".json"}
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
	return b, b.until(ctx, "a member leads", func() bool { return b.Leader() != nil })
}

// prepare makes keys, addresses and stores.
func (s Shape) prepare(ctx context.Context) (all []settings, err error) {
	g := txlog.Genesis{Namespace: "bench", Machine: kv.Machine}
	var seats []seat
	for i := range s.Members {
		name := fmt.Sprint("member-", i+1)
		one := settings{Bare: s.Bare, Self: i, Key: filepath.Join(s.Dir, name+".key"), Store: filepath.Join(s.Dir, name)}
		identity, err := mtls.CreateIdentity(one.Key)
		if err != nil {
			return nil, err
		}
		address, err := fleet.LowPort(ctx)
		if err != nil {
			return nil, err
		}
		id, err := disk.Create(ctx, one.Store)
		if err != nil {
			return nil, err
		}
		all, seats = append(all, one), append(seats, seat{Name: name, Address: address, Key: identity.Fingerprint().String()})
		g.Members = append(g.Members, txlog.Member{Name: name, Key: txlog.Hash(identity.Fingerprint()), Store: id})
	}
	for i := range all {
		all[i].All = seats
		store, err := disk.Begin(ctx, all[i].Store, g.With())
		if err != nil {
			return nil, err
		}
		if err := store.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Leader returns the member that leads, or nil.
func (b *Board) Leader() *Member {
	for _, m := range b.members {
		if s, err := m.Status(); err == nil && s.Leads {
			return m
		}
	}
	return nil
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
		pids = append(pids, m.cmd.Process.Pid)
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

// Close ends all members.
func (b *Board) Close() error {
	for _, m := range b.members {
		m.Kill()
		m.wait()
	}
	b.launcher.Close()
	return nil
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
		if m.clerk != nil && m.words.String() != "" {
			all = errors.Join(all, fmt.Errorf("%s: %s", m.name, m.words))
		}
	}
	return all
}
