package gossip_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

const (
	round   = 100 * time.Millisecond
	longest = 20 * time.Millisecond // way of a message
)

// site is a network with agents, in a bubble.
type site struct {
	t        testing.TB
	net      *memory.Network
	nodes    []*node
	electors []string
	contacts []string             // where there are no electors
	change   func(*gossip.Config) // of each configuration
	cheap    bool                 // nobody forges anything: no node has a real signature, though they are few
}

// node is a process.
type node struct {
	name   string
	site   *site
	key    wire.Subject
	scheme hint.Scheme
	end    *memory.Roamer
	agent  *gossip.Agent
	stop   context.CancelFunc
	ended  chan error
	up     bool

	mu     sync.Mutex
	events []gossip.Event
	frozen chan struct{} // its loop waits until it is closed; nil: it runs
}

// bubble runs a test in virtual time. Every agent is stopped at its end.
func bubble(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, net: memory.New(24)}
		s.net.SetFaults(memory.Faults{Least: 2 * time.Millisecond, Most: longest, Notice: 2 * time.Second})
		defer func() {
			for _, n := range s.nodes {
				n.halt()
			}
		}()
		test(t, s)
	})
}

// keyOf returns the same key for a name in every test.
func keyOf(t testing.TB, name string) hint.Pinned {
	key, err := hint.NewPinned(signerOf(name))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signerOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// crowd starts so many nodes within a round. The first of them are electors; none of them are if there are 0.
func (s *site) crowd(n, electors int) {
	for i := range electors {
		s.electors = append(s.electors, fmt.Sprint("n", i+1))
	}
	for i := range n {
		name := fmt.Sprint("n", i+1)
		s.add(name, s.cheap || n > 3)
	}
	for i := range min(n, 3) {
		s.contacts = append(s.contacts, s.nodes[i].name)
	}
	for _, n := range s.nodes {
		n.start()
		time.Sleep(round / time.Duration(len(s.nodes)))
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }

// add adds a node that is not started. Real signatures cost most of a test.
func (s *site) add(name string, cheap bool) *node {
	key := keyOf(s.t, name)
	n := &node{name: name, site: s, key: key.Subject(), scheme: key}
	if cheap {
		n.scheme = seal{n.key}
	}
	s.nodes = append(s.nodes, n)
	return n
}

// seal is a signature for tests in which nobody forges.
type seal struct{ by wire.Subject }

func (s seal) Sign(b []byte) []byte {
	h := fnv.New64a()
	_, _ = h.Write(s.by[:])
	_, _ = h.Write(b)
	return h.Sum(nil)
}

func (seal) Verify(by wire.Subject, b, signature []byte) bool {
	return string(seal{by}.Sign(b)) == string(signature)
}

// config is what the operators of all nodes have written: all know the electors, or the first three.
func (n *node) config() gossip.Config {
	c := gossip.Config{
		Transport: frozenRoamer{n.end, n}, Address: n.name,
		Namespaces: []gossip.Namespace{{Name: "site"}}, Tell: n.tell,
	}
	gossip.Seal(&c, n.key, n.scheme)
	known := slices.Clone(n.site.electors)
	for _, e := range known {
		c.Namespaces[0].Electors = append(c.Namespaces[0].Electors, keyOf(n.site.t, e).Subject())
	}
	if len(known) == 0 {
		known = n.site.contacts
	}
	for _, name := range known {
		if name != n.name {
			c.Peers = append(c.Peers, gossip.Peer{Name: name, Address: name, Subject: keyOf(n.site.t, name).Subject()})
		}
	}
	began := time.Now().Add(-time.Hour) // clocks begin anywhere
	c.Clock = func() time.Duration { return time.Since(began) }
	if n.site.change != nil {
		n.site.change(&c)
	}
	return c
}

func (n *node) start() {
	n.startAt(time.Now())
}

// startAt starts the node with a wall clock that is wrong.
func (n *node) startAt(wall time.Time) {
	n.end = n.site.net.Roam(n.name, n.key)
	a, err := gossip.NewAt(n.config(), wall)
	if err != nil {
		n.site.t.Fatal(err)
	}
	n.run(a)
}

func (n *node) run(a *gossip.Agent) {
	ctx, cancel := context.WithCancel(n.site.t.Context())
	n.agent, n.stop, n.ended, n.up = a, cancel, make(chan error, 1), true
	ended := n.ended
	go func() { ended <- a.Run(ctx) }()
}

// halt stops the agent, which says goodbye, and ends its process: nothing answers a call any more.
func (n *node) halt() {
	if !n.up {
		return
	}
	n.up = false
	n.stop()
	if err := <-n.ended; err != nil {
		n.site.t.Errorf("%s: %v", n.name, err)
	}
	n.site.net.Kill(n.name)
}

// kill ends the process: nothing of it is heard any more, and its connections break.
func (n *node) kill() {
	n.site.net.Kill(n.name)
	n.halt()
}

func (n *node) tell(e gossip.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

// told returns the events of one kind.
func told[E gossip.Event](n *node) (all []E) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e, is := e.(E); is {
			all = append(all, e)
		}
	}
	return all
}

func (n *node) status() gossip.Hint { return n.agent.Status().Hints[0] }

func (s *site) node(name string) *node {
	for _, n := range s.nodes {
		if n.name == name {
			return n
		}
	}
	s.t.Fatalf("there is no node %q", name)
	return nil
}

// leader returns the node in which all that are up believe, and which leads; or nil.
func (s *site) leader(of ...*node) *node {
	if len(of) == 0 {
		of = slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return !n.up })
	}
	var one *node
	for _, n := range of {
		st := n.status()
		if st.Leader.Name == "" {
			return nil
		}
		if l := s.node(st.Leader.Name); one == nil {
			one = l
		} else if one != l {
			return nil
		}
	}
	if one == nil || !one.up || one.stands() || !one.status().Leads {
		return nil
	}
	return one
}

// within waits until something is so.
func (s *site) within(most time.Duration, what string, is func() bool) {
	s.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > most {
			s.t.Fatalf("after %v it is not so that %s\n%s", most, what, s.views())
		}
		time.Sleep(round / 4)
	}
}

// agree waits until all have one leader.
func (s *site) agree(most time.Duration) *node {
	s.t.Helper()
	var l *node
	s.within(most, "all have one leader", func() bool { l = s.leader(); return l != nil })
	return l
}

func (s *site) views() (text string) {
	for _, n := range s.nodes {
		if n.up && !n.stands() {
			st := n.agent.Status()
			text += fmt.Sprintf("%s: %v, leader %v, reign %d; %d neighbours, %d arcs\n", n.name, st.Hints[0].State, st.Hints[0].Leader, st.Hints[0].Reign, len(st.Neighbours), st.Arcs)
		}
	}
	return text
}

// freeze has the loop of a node stand still, as a stopped process does.
func (n *node) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen = make(chan struct{})
}

// stands reports whether the node is frozen.
func (n *node) stands() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen != nil
}

func (n *node) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.frozen)
	n.frozen = nil
}

// frozenRoamer stands still with its node.
type frozenRoamer struct {
	transport.Roamer

	node *node
}

// Changed is what the loop asks for before it waits.
func (f frozenRoamer) Changed() <-chan struct{} {
	f.node.mu.Lock()
	frozen := f.node.frozen
	f.node.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return f.Roamer.Changed()
}
