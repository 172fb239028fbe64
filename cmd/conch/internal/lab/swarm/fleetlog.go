//go:build unix

package swarm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
	"github.com/conchhq/conch/internal/pause"
)

// The logs of the demo, one of keys and values and one of Prolog: the electors are their members, as docs/log.md advises, and some others follow.
const (
	logName   = "flags"
	worldName = "world"
	followers = 5
	clients   = 4
	goalPace  = 600 * time.Millisecond // of a client

	createAgain = time.Second / 2
)

var errUnfinished = errors.New("the demo ended meanwhile")

// beside runs what asks nodes beside the loop, until it is done, or the patience is over, or asked ends.
func (s *supervisor) beside(asked context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(asked, patience)
	defer cancel()
	done := make(chan error, 1)
	s.busy.Go(func() { done <- do(ctx) })
	err := errUnfinished
	s.await(asked, patience+breath, func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

// found makes the logs, and begins to load them.
func (s *supervisor) found(asked context.Context) error {
	load, err := s.makes(asked, goals.Config{Namespace: logName, Counter: goals.Keys}, "kv")
	if err != nil {
		return err
	}
	world, err := s.makes(asked, goals.Config{Namespace: worldName, Counter: goals.Clauses}, "prolog")
	if err != nil {
		load.Close()
		return err
	}
	s.load, s.world = load, world
	s.screen.Note("%d more nodes follow both, and %d clients of each submit goals at all %d from now on", s.logged()-electors, clients, s.logged())
	return nil
}

// makes makes one log, and begins to load it.
func (s *supervisor) makes(asked context.Context, cfg goals.Config, machine string) (*goals.Load, error) {
	var members []string
	for _, n := range s.All[:electors] {
		members = append(members, n.Name)
	}
	who := strings.Join(members, ",")
	var id string
	began := time.Now()
	err := s.beside(asked, func(ctx context.Context) error {
		for { // not all members may be connected yet; asked again, it names the same log
			out, err := s.Output(ctx, s.cfg.Program, "log", "create", cfg.Namespace, "--machine", machine, "--members", who, "--node", "unix:"+s.All[0].socket())
			if id = strings.TrimSpace(string(out)); err == nil || pause.For(ctx, createAgain) != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("conch log create: %w", err)
	}
	cfg.Start, cfg.Clients, cfg.Pace = s.start, clients, s.cfg.paced(goalPace, runtime.NumCPU())
	load := goals.Begin(cfg)
	for _, n := range append(slices.Clone(s.All), s.newcomer) {
		if !n.logs {
			continue
		}
		if err := n.believe(cfg.Namespace, id); err != nil {
			load.Close()
			return nil, err
		}
		if n != s.newcomer {
			load.Add(n.Name, n.socket())
		}
	}
	load.Run()
	s.screen.Note("conch log create %s --machine %s --members %s: made in %s, its id is %.12s…", cfg.Namespace, machine, who, short(time.Since(began)), id)
	return load, nil
}

// logged returns how many nodes have the log.
func (s *supervisor) logged() (n int) {
	for _, one := range s.All {
		if one.logs {
			n++
		}
	}
	return n
}

// writer returns the node that leads the log, as its newest entry says.
func (s *supervisor) writer() string {
	if s.load == nil {
		return ""
	}
	return s.load.Now().Newest.Leader
}

// killWriter kills the leader of the log, whatever gossip names.
func (s *supervisor) killWriter(asked context.Context, leader string) {
	n := s.Named(s.writer())
	if n == nil || n.Process == nil || n.Name == leader {
		s.killLeader(asked, leader)
		return
	}
	at := time.Now()
	s.kill(n)
	s.record.Crashed++
	s.doing = "the log's leader is dead"
	s.screen.Note("kill -9 %s, pid %d, which led the log; gossip names %s", n.Name, n.Process.PID(), leader)
	s.goesOn(asked, at, "the kill")
	n.Back = time.Now().Add(restartAfter)
}

// goesOn waits until a goal is acknowledged that was asked for after something was done to the leader of the log.
func (s *supervisor) goesOn(asked context.Context, at time.Time, what string) {
	var took time.Duration
	again := func() (is bool) {
		took, is = s.load.Again(s.since(at))
		return is
	}
	if s.await(asked, patience, again) {
		s.screen.Note("goals are acknowledged again, %s after %s: %s", short(took), what, s.standing())
	} else if asked.Err() == nil && s.fault == nil {
		s.screen.Note("NO GOAL IS ACKNOWLEDGED, %s after %s", patience, what)
	}
}

// standing says how far the log is.
func (s *supervisor) standing() string {
	now := s.load.Now()
	return fmt.Sprintf("entry %d, by %s in term %d", now.Newest.Index, somebody(now.Newest.Leader), now.Newest.Term)
}

// wipe kills a member that does not lead, deletes its store, and starts it again: it has to come back with another store, which
// the others admit, and with all entries.
func (s *supervisor) wipe(leader string) {
	writer := s.writer()
	var others []string
	for _, n := range s.All[:electors] {
		if n.Name != leader && n.Name != writer {
			others = append(others, n.Name)
		}
	}
	n := s.Named(s.plan.One(others))
	before := uint64(0)
	err := s.beside(s.gone, func(ctx context.Context) error {
		return s.load.Await(ctx, n.Name, func(st goals.Status) bool { before = st.Store; return st.Decides })
	})
	if err != nil || n.Process == nil {
		s.fault = fmt.Errorf("%s does not take part in the log: %w", n.Name, err)
		return
	}
	pid := n.Process.PID()
	s.kill(n)
	s.record.Crashed++
	s.doing = "a member has lost its disk"
	s.await(s.gone, patience, func() bool { return n.Process == nil })
	if err := os.Remove(n.store()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.fault = err
		return
	}
	upto := s.load.Now().Newest.Index
	s.screen.Note("kill -9 %s, pid %d, a member, and rm %s/%s: its copy of %d entries is gone", n.Name, pid, n.Name, storeFile, upto)
	n.Back = time.Now()
	took, err := s.catchesUp(n, func(st goals.Status) bool {
		return st.Decides && st.Store != before && st.Position.Index >= upto
	})
	if err == nil {
		s.screen.Note("%s is a member again, %s after its start: a new store, admitted, with all %d entries", n.Name, short(took), upto)
	} else {
		s.screen.Note("%s IS NO MEMBER AGAIN: %v", n.Name, err)
	}
	s.load.Note(func(r *goals.Record) { r.Wiped = append(r.Wiped, goals.Start{Node: n.Name, Took: took}) })
}

// catchesUp waits until the copy of a node that was started just now is as it has to be, also after Ctrl-C: the verdict is about it.
func (s *supervisor) catchesUp(n *node, as func(goals.Status) bool) (took time.Duration, err error) {
	began := time.Now()
	if err := s.beside(s.gone, func(ctx context.Context) error { return s.load.Await(ctx, n.Name, as) }); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// join starts a node that has never been there.
func (s *supervisor) join() {
	n, upto := s.newcomer, s.load.Now().Newest.Index
	s.All = append(s.All, n)
	s.load.Add(n.Name, n.socket())
	s.world.Add(n.Name, n.socket())
	s.doing = "a node joins"
	if err := s.launch(n); err != nil {
		s.fault = err
		return
	}
	s.screen.Note("%s starts for the first time, with nothing but its contacts and the id of the log", n.Name)
	took, err := s.catchesUp(n, func(st goals.Status) bool { return st.Position.Index >= upto })
	if err == nil {
		s.screen.Note("%s has all %d entries, each checked against the one before it, %s after its start", n.Name, upto, short(took))
	} else {
		s.screen.Note("%s HAS NOT THE LOG: %v", n.Name, err)
	}
	s.load.Note(func(r *goals.Record) { r.Joined = append(r.Joined, goals.Start{Node: n.Name, Took: took}) })
}
