//go:build unix

package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/network"
)

// site has the folder of a demo, its nodes, and what is between them.
type site struct {
	cfg      Config
	dir      string
	launcher *fleet.Launcher
	links    *network.Network // nil: nothing can be cut
	nodes    []*node          // the electors first
	newcomer *node            // joins in the end; one of the nodes then
	ends     chan fleet.News
	over     chan struct{}                          // closed when ends is no longer read
	program  func(*node) []string                   // the arguments with which a node is run
	listen   func(netip.Addr) (net.Listener, error) // at an address of this machine
}

// prepare makes the folder, the keys and the relays. The caller clears up, also after an error.
func (s *site) prepare(say func(string, ...any)) (err error) {
	s.launcher, s.ends, s.over = fleet.NewLauncher(), make(chan fleet.News, s.cfg.Nodes+1), make(chan struct{})
	if err := enoughFiles(s.cfg.Nodes, mostFiles()); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "conch-gossip-"); err != nil {
		return err
	}
	if path := filepath.Join(s.dir, "n000", socketFile); len(path) > mostPath {
		return fmt.Errorf("%s has %d bytes, and the path of a socket has %d at most: set TMPDIR to a shorter folder", path, len(path), mostPath)
	}
	ca, err := newAuthority(s.dir)
	if err != nil {
		return err
	}
	for i := range s.cfg.Nodes + 1 {
		n := &node{name: fmt.Sprintf("n%03d", i+1), elector: i < electors, logs: i < electors+followers || i == s.cfg.Nodes, life: -1}
		n.dir = filepath.Join(s.dir, n.name)
		if err := n.found(ca); err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	if err := s.lay(say); err != nil {
		return err
	}
	// The contacts are no electors: those start last, and somebody has to be there before them.
	for _, n := range s.nodes {
		if err := n.write(s.nodes, s.nodes[electors:electors+contacts], ca.file, s.cfg.timing().Round); err != nil {
			return err
		}
	}
	s.nodes, s.newcomer = s.nodes[:s.cfg.Nodes:s.cfg.Nodes], s.nodes[s.cfg.Nodes]
	return nil
}

// lay gives each node its addresses, and puts a relay in front of it, if this system has the addresses for that.
func (s *site) lay(say func(string, ...any)) error {
	block := byte(2 * (8 + rand.IntN(110))) //nolint:gosec // only so that two demos at one time do not meet
	if probe, err := s.listen(homeOf(block, 0)); err != nil {
		say("THE NETWORK IS NOT CUT: this system has one loopback address only (%v)", err)
	} else {
		_ = probe.Close()
		s.links = &network.Network{}
	}
	for i, n := range s.nodes {
		own := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if s.links != nil {
			own, n.home = homeOf(block, i), homeOf(block, i)
		}
		probe, err := s.listen(own)
		if err != nil {
			return err
		}
		n.listen = probe.Addr().String()
		n.public = n.listen
		if err := probe.Close(); err != nil || s.links == nil {
			continue
		}
		if n.public, err = s.links.InFront(n.name, n.home, netip.AddrPortFrom(homeOf(block+1, i), 0).String()); err != nil {
			return err
		}
		s.links.Lead(n.name, n.listen)
	}
	return nil
}

// mostPath is how long the path of a Unix socket may be on every system.
const mostPath = 100

// homeOf returns an address of a block of the loopback network.
func homeOf(block byte, i int) netip.Addr {
	const row = 250
	return netip.AddrFrom4([4]byte{127, block, byte(i / row), byte(1 + i%row)})
}

func listen(at netip.Addr) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", netip.AddrPortFrom(at, 0).String())
}

// filesPerNode is for its pipes and streams, its relay, and both ends of the connections through that.
const filesPerNode = 48

// mostFiles returns how many files this process may open.
func mostFiles() int {
	const many = 1 << 30
	var has syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &has); err != nil {
		return many // nothing is known, and opening says it
	}
	return int(min(has.Cur, many))
}

// enoughFiles returns an error if this process may not open as many files as it has to.
func enoughFiles(nodes, most int) error {
	const others = 200
	if most < others+nodes*filesPerNode {
		return fmt.Errorf("%d nodes need %d open files, and this process may have %d: raise that with \"ulimit -n\", or take --nodes %d",
			nodes, others+nodes*filesPerNode, most, max(leastNodes, (most-others)/filesPerNode))
	}
	return nil
}

// agent returns the arguments with which a node is run.
func agent(n *node) []string {
	return []string{"node", "--config", filepath.Join(n.dir, configFile), "--id", n.name, "--log-level", "error"}
}

// oneProcessor keeps each of so many processes from looking for work on the others: that is a fifth of what they cost.
const oneProcessor = "GOMAXPROCS=1"

// start starts a node's process.
func (s *site) start(n *node) error {
	p, err := s.launcher.Launch(s.cfg.Program, s.program(n), []string{oneProcessor}, func(news fleet.News) {
		select {
		case s.ends <- news:
		case <-s.over:
		}
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", n.name, err)
	}
	if !n.logs && s.cfg.crowding(runtime.NumCPU()) > 1 {
		// Each node would be alone on its machine. Here hundreds get what each of them needs only if those with most to do, the
		// electors and members of the log, need not wait for all others.
		p.Yield()
	}
	n.process, n.killed, n.back = p, false, time.Time{}
	return nil
}

// of returns the node whose process p is, or nil for an earlier process.
func (s *site) of(p *fleet.Process) *node {
	for _, n := range s.nodes {
		if n.process == p {
			return n
		}
	}
	return nil
}

// endAll ends all processes, in order within the patience, then by SIGKILL, and returns when none is left.
func (s *site) endAll(patience time.Duration) {
	alive := s.signal(syscall.SIGTERM)
	hurry := time.NewTimer(patience)
	defer hurry.Stop()
	for alive > 0 {
		select {
		case news := <-s.ends:
			if n := s.of(news.From); n != nil && news.Ended {
				n.process.CloseStdin()
				n.process = nil
				alive--
			}
		case <-hurry.C:
			s.signal(syscall.SIGKILL)
		}
	}
}

// signal sends a signal to each process, and returns how many there are.
func (s *site) signal(sig syscall.Signal) (alive int) {
	for _, n := range s.nodes {
		if n.process != nil {
			alive++
			n.process.Signal(sig)
		}
	}
	return alive
}

// clear ends everything and removes the folder.
func (s *site) clear() error {
	s.endAll(0)
	close(s.over)
	s.links.Close()
	s.launcher.Close()
	if s.dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return errors.Join(errors.New("clearing up"), err)
	}
	return nil
}
