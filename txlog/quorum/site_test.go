package quorum_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

const round = 100 * time.Millisecond

// site is a log on several nodes, in a bubble.
type site struct {
	t       testing.TB
	net     *memory.Network
	genesis txlog.Genesis
	nodes   []*node
}

// node is a process with a store that outlives it.
type node struct {
	site  *site
	name  string
	key   ed25519.PrivateKey
	store store.Store
	line  transport.Line              // nil: one of its own
	with  func(*quorum.Config)        // changes the configuration of the next start; nil: nothing
	run   atomic.Pointer[quorum.Host] // nil: it does not run
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	events []quorum.Event
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func fingerprint(key ed25519.PrivateKey) txlog.Hash {
	public, _ := key.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

// bubble runs a test in virtual time, on so many members and followers.
func bubble(t *testing.T, members, followers int, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, net: memory.New(25)}
		s.net.SetFaults(memory.Faults{Least: time.Millisecond, Most: 5 * time.Millisecond})
		g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Retention: 1000, Scrub: 50, LeaseMS: 1000}
		for i := range members + followers {
			n := &node{site: s, name: fmt.Sprint("n", i+1)}
			n.key = keyOf(n.name)
			s.nodes = append(s.nodes, n)
			if i < members {
				g.Members = append(g.Members, txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: uint64(i + 1)})
			}
		}
		s.genesis = g.With()
		defer func() {
			for _, n := range s.nodes {
				n.kill()
			}
		}()
		for i, n := range s.nodes {
			n.store = store.NewMemory(uint64(i+1), s.genesis)
			n.start()
		}
		test(t, s)
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }

func (n *node) start() {
	n.site.t.Helper()
	line, peers := n.line, func() []string { return []string{"n1", "n2"} }
	if line == nil {
		end := n.site.net.Join(n.name)
		var err error
		if line, err = end.Open("log"); err != nil {
			n.site.t.Fatal(err)
		}
		peers = end.Peers
	}
	began := time.Now()
	cfg := quorum.Config{
		Self: n.name, Key: n.key, New: kv.New, Seed: uint64(len(n.name)) + uint64(time.Now().UnixNano()), SnapshotEvery: 100, SnapshotAfter: 60, Keep: 50,
		Store: n.store, Line: line, Peers: peers,
		Publish: func(head []byte) { n.site.publish(n, head) },
		Tell: func(e quorum.Event) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.events = append(n.events, e)
		},
		Clock: func() time.Duration { return time.Since(began) },
	}
	if n.with != nil {
		n.with(&cfg)
	}
	h, err := quorum.New(cfg)
	if err != nil {
		n.site.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.site.t.Context())
	n.stop, n.ended = cancel, make(chan error, 1)
	n.run.Store(h)
	ended := n.ended
	go func() {
		defer line.Close()
		ended <- h.Run(ctx)
	}()
}

// kill ends the process. What it has stored stays.
func (n *node) kill() {
	if n.run.Load() == nil {
		return
	}
	n.site.net.Kill(n.name)
	n.stop()
	if err := <-n.ended; err != nil {
		n.site.t.Errorf("%s: %v", n.name, err)
	}
	n.run.Store(nil)
}

// publish is what gossip does.
func (s *site) publish(from *node, head []byte) {
	for _, to := range s.nodes {
		if h := to.run.Load(); h != nil && to != from {
			_ = h.Heard(head, from.name)
		}
	}
}

func (s *site) leader() *node {
	for _, n := range s.nodes {
		if n.run.Load() != nil && n.run.Load().Status().Leads {
			return n
		}
	}
	return nil
}

func (s *site) within(most time.Duration, what string, is func() bool) {
	s.t.Helper()
	for began := time.Now(); !is(); time.Sleep(round / 4) {
		if time.Since(began) > most {
			s.t.Fatalf("after %v it is not so that %s\n%s", most, what, s.view())
		}
	}
}

func (s *site) view() (text string) {
	for _, n := range s.nodes {
		if n.run.Load() != nil {
			text += fmt.Sprintf("%s: %+v\n", n.name, n.run.Load().Status())
		}
	}
	return text
}

// put has a node execute a goal, again and again under one id, as a user does.
func (n *node) put(id, key string, value int) (txlog.Answer, error) {
	goal := fmt.Sprintf(`{"op":"put","key":%q,"value":%d}`, key, value)
	for range 20 {
		ctx, cancel := context.WithTimeout(n.site.t.Context(), 20*time.Second)
		a, err := n.run.Load().Goal(ctx, id, []byte(goal), 0)
		cancel()
		if !errors.Is(err, txlog.ErrUnknown) && !errors.Is(err, txlog.ErrTooMany) {
			return a, err
		}
	}
	return txlog.Answer{}, txlog.ErrUnknown
}

// equal waits until all that run have the same copy.
func (s *site) equal(most time.Duration) {
	s.t.Helper()
	s.within(most, "all copies are equal", func() bool {
		var all []txlog.Position
		for _, n := range s.nodes {
			if h := n.run.Load(); h != nil {
				all = append(all, h.Position())
			}
		}
		return !slices.ContainsFunc(all, func(p txlog.Position) bool { return p != all[0] })
	})
}

func (n *node) count(id string) (txlog.Answer, error) {
	for range 20 {
		ctx, cancel := context.WithTimeout(n.site.t.Context(), 20*time.Second)
		a, err := n.run.Load().Goal(ctx, id, []byte(`{"op":"add","key":"count"}`), 0)
		cancel()
		if !errors.Is(err, txlog.ErrUnknown) && !errors.Is(err, txlog.ErrTooMany) {
			return a, err
		}
	}
	return txlog.Answer{}, txlog.ErrUnknown
}
