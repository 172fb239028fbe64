//go:build unix

package board

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/bare"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/quorum/host"
	"github.com/conchhq/conch/txlog/store"
)

// Board is the members of a log in this process, each with a file of its own.
type Board struct {
	net     *memory.Network
	genesis txlog.Genesis
	members []*Member
	Sent    Tally // by all of them
}

// Member is one of them.
type Member struct {
	name  string
	path  string
	key   ed25519.PrivateKey
	store *disk.Store
	run   atomic.Pointer[host.Host]
	stop  func() error // nil: it does not run
}

// Open makes a log of so many members in a folder, and waits until one of them leads.
func Open(ctx context.Context, dir string, many int) (h *Board, err error) {
	h = &Board{net: memory.New(1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	g := txlog.Genesis{Namespace: "bench", Machine: kv.Machine}
	for i := range many {
		m := &Member{name: fmt.Sprint("member-", i+1), path: filepath.Join(dir, fmt.Sprint("log-", i+1))}
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return h, err
		}
		id, err := disk.Create(ctx, m.path)
		if err != nil {
			return h, err
		}
		m.key = private
		g.Members = append(g.Members, txlog.Member{Name: m.name, Key: txlog.Fingerprint(public), Store: id})
		h.members = append(h.members, m)
	}
	h.genesis = g.With()
	for i, m := range h.members {
		s, err := disk.Begin(ctx, m.path, h.genesis)
		if err != nil {
			return h, err
		}
		if err := h.start(ctx, i, s); err != nil {
			return h, errors.Join(err, s.Close())
		}
	}
	return h, until(ctx, "a member leads", func() bool { return h.Leader() != nil })
}

// start has a member take part.
func (h *Board) start(ctx context.Context, i int, s *disk.Store) error {
	m := h.members[i]
	end := h.net.Join(m.name)
	line, err := end.Open("log")
	if err != nil {
		return err
	}
	run, err := host.New(host.Config{
		Settings: host.Settings{Self: m.name, Key: m.key, New: kv.New, Seed: uint64(i) + 1},
		Store:    s, Line: overheard{line, &h.Sent}, Peers: end.Peers,
		Publish: func(head []byte) {
			for _, to := range h.members {
				if to != m && to.run.Load() != nil {
					_ = to.run.Load().Heard(head, m.name)
				}
			}
		},
	})
	if err != nil {
		return err
	}
	m.store = s
	own, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	m.run.Store(run)
	go func() { ended <- run.Run(own) }()
	m.stop = func() error {
		h.net.Kill(m.name)
		cancel()
		err := <-ended
		line.Close()
		m.stop = nil
		return errors.Join(err, s.Close())
	}
	return nil
}

// Again starts a member that was killed.
func (h *Board) Again(ctx context.Context, m *Member) error {
	s, err := disk.Open(ctx, m.path)
	if err != nil {
		return err
	}
	if err := h.start(ctx, slices.Index(h.members, m), s); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// Leader returns the member that leads, or nil.
func (h *Board) Leader() *Member {
	for _, m := range h.members {
		if m.stop != nil && m.run.Load().Status().Leads {
			return m
		}
	}
	return nil
}

// Other returns a member that runs, and is not that one.
func (h *Board) Other(than *Member) *Member {
	for _, m := range h.members {
		if m != than && m.stop != nil {
			return m
		}
	}
	return nil
}

// Put has a goal executed, as often as it takes: under one id it is executed once.
func (m *Member) Put(ctx context.Context, id string, goal []byte) error {
	for {
		a, err := m.run.Load().Goal(ctx, id, goal, 0, 0)
		switch {
		case errors.Is(err, txlog.ErrUnknown) && ctx.Err() == nil, errors.Is(err, txlog.ErrTooMany):
			continue
		case err == nil && a.Fault != "":
			return fmt.Errorf("a goal has failed: %s", a.Fault)
		}
		return err
	}
}

// RecordSize returns how many bytes an entry of a goal has.
func (h *Board) RecordSize(ctx context.Context) (int, error) {
	m := h.Other(nil)
	for i := range 2 { // the second one replaces a value
		if err := m.Put(ctx, fmt.Sprint("size-", i), Goal(0, 31_000*i)); err != nil {
			return 0, err
		}
	}
	records, err := m.store.Records(m.run.Load().Position().Index, 1)
	if err != nil {
		return 0, err
	}
	return len(records[0].Raw()), nil
}

// Agree waits until one member leads, and all have come as far as it has.
func (h *Board) Agree(ctx context.Context) error {
	return until(ctx, "all members have the same log", func() bool {
		l := h.Leader()
		for _, m := range h.members {
			if l == nil || m.run.Load().Position() != l.run.Load().Position() {
				return false
			}
		}
		return true
	})
}

// Close ends all members.
func (h *Board) Close() (err error) {
	for _, m := range h.members {
		if m.stop != nil {
			err = errors.Join(err, m.stop())
		}
	}
	return err
}

// overheard is a line of which it is counted what is sent.
type overheard struct {
	transport.Line

	sent *Tally
}

// Send implements transport.Line.
func (c overheard) Send(to string, body []byte) error {
	c.sent.Messages.Add(1)
	c.sent.Bytes.Add(int64(len(body)))
	return c.Line.Send(to, body)
}

// until waits until something is so.
func until(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("after a minute it is not so that %s", what))
	defer cancel()
	for !is() {
		if err := pause.For(ctx, 10*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Kill ends the leader, or another member, without a word. What it has stored stays.
func (m *Member) Kill() error { return m.stop() }

// Query answers from the member's copy.
func (m *Member) Query(query []byte) error {
	_, _, err := m.run.Load().Query(query)
	return err
}

// Fresh answers so that the answer has everything that was acknowledged before.
func (m *Member) Fresh(ctx context.Context, query []byte) error {
	_, _, err := m.run.Load().Fresh(ctx, query)
	return err
}

// Tally counts what is sent.
type Tally struct{ Messages, Bytes atomic.Int64 }

// valueBytes is the length of the value that a goal puts.
const valueBytes = 160

// Goal is a goal as a user has it: one of a thousand flags gets another value.
func Goal(client, n int) []byte {
	return fmt.Appendf(nil, `{"op":"put","key":"flags/%d","value":"%s%08d"}`, (client*31+n)%1000, strings.Repeat("x", valueBytes-8), n)
}

// OpenBare makes so many members of the core alone, each with a file in a folder.
func OpenBare(ctx context.Context, dir string, many int) (*bare.Core, func() error, error) {
	var stores []store.Store
	shut := func() (err error) {
		for _, s := range stores {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	for i := range many {
		s, err := begin(ctx, filepath.Join(dir, fmt.Sprint("bare-", i+1)), "bare")
		if err != nil {
			return nil, nil, errors.Join(err, shut())
		}
		stores = append(stores, s)
	}
	c, err := bare.Open(ctx, stores)
	if err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	return c, func() error { return errors.Join(c.Close(), shut()) }, nil
}
