//go:build unix

package swarm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/conchhq/conch/cmd/conch/internal/lab/authority"
	"github.com/conchhq/conch/cmd/conch/internal/lab/network"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/internal/fleet"
)

// site has the folder of a demo, its nodes, and what is between them.
type site struct {
	stage.Clearing
	*stage.Cast[*node] // the electors first

	cfg      Config
	dir      string
	links    *network.Network                       // nil: nothing can be cut
	newcomer *node                                  // joins in the end; one of the cast then
	program  func(*node) []string                   // the arguments with which a node is run
	listen   func(netip.Addr) (net.Listener, error) // at an address of this machine
}

// prepare makes the folder, the keys and the relays. The caller clears up, also after an error.
func (s *site) prepare(say func(string, ...any)) (err error) {
	s.Cast = stage.NewCast[*node](s.cfg.Nodes + 1)
	if err := enoughFiles(s.cfg.Nodes, mostFiles()); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "conch-gossip-"); err != nil {
		return err
	}
	s.Afterwards(func() error { return os.RemoveAll(s.dir) })
	if path := filepath.Join(s.dir, "n000", socketFile); len(path) > mostPath {
		return fmt.Errorf("%s has %d bytes, and the path of a socket has %d at most: set TMPDIR to a shorter folder", path, len(path), mostPath)
	}
	ca, err := authority.New(filepath.Join(s.dir, "ca.pem"))
	if err != nil {
		return err
	}
	for i := range s.cfg.Nodes + 1 {
		n := &node{Player: stage.Player{Name: fmt.Sprintf("n%03d", i+1)}, elector: i < electors, logs: i < electors+followers || i == s.cfg.Nodes, life: -1}
		n.dir = filepath.Join(s.dir, n.Name)
		if err := n.found(ca); err != nil {
			return err
		}
		s.All = append(s.All, n)
	}
	if err := s.lay(say); err != nil {
		return err
	}
	// The contacts are no electors: those start last, and somebody has to be there before them.
	for _, n := range s.All {
		if err := n.write(s.All, s.All[electors:electors+contacts], ca.File, s.cfg.timing().Round); err != nil {
			return err
		}
	}
	s.All, s.newcomer = s.All[:s.cfg.Nodes:s.cfg.Nodes], s.All[s.cfg.Nodes]
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
		s.Afterwards(func() error { s.links.Close(); return nil })
	}
	for i, n := range s.All {
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
		if n.public, err = s.links.InFront(n.Name, n.home, netip.AddrPortFrom(homeOf(block+1, i), 0).String()); err != nil {
			return err
		}
		s.links.Lead(n.Name, n.listen)
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
	return []string{"node", "--config", filepath.Join(n.dir, configFile), "--id", n.Name, "--log-level", "error"}
}

// oneProcessor keeps each of so many processes from looking for work on the others: that is a fifth of what they cost.
const oneProcessor = "GOMAXPROCS=1"

// start starts a node's process.
func (s *site) start(n *node) error {
	if err := s.Start(n, fleet.Command{Program: s.cfg.Program, Args: s.program(n), Env: []string{oneProcessor}}); err != nil {
		return err
	}
	if !n.logs && s.cfg.crowding(runtime.NumCPU()) > 1 {
		// Each node would be alone on its machine. Here hundreds get what each of them needs only if those with most to do, the
		// electors and members of the log, need not wait for all others.
		n.Process.Yield()
	}
	return nil
}

// clear ends everything and removes the folder.
func (s *site) clear() error {
	s.End(0)
	return s.Clear()
}
