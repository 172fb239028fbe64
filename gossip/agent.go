package gossip

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/transport"
)

// Why nothing is published. Other errors say what is wrong with the namespace, the topic or the body.
var (
	// ErrStopped means that the agent does not run, so that nobody would hear it.
	ErrStopped = core.ErrStopped
	// ErrTopics means that this node tells news under too many topics.
	ErrTopics = hint.ErrTopics
)

var errRan = errors.New("the agent has run already, and an agent is one start of a node")

// Agent is one node of an overlay. It is safe for concurrent use.
type Agent struct {
	cfg  Config
	mail *mailbox

	// The loop holds it while it takes an input; a user's call takes its place between two of them.
	mu                sync.Mutex
	core              *core.Core
	followed          map[string]reign // by namespace: the leader that was told last
	ran               bool
	statements, views transport.Line // nil while it does not run
	counts            Counts         // of what was sent, and of what the lines have dropped
}

// New returns an agent that does not run yet. The error lists every fault of the configuration, or says that the
// incarnation cannot be read or stored. A full disk is no such error: [Unstored] tells of it.
func New(cfg Config) (*Agent, error) { return newAt(cfg, time.Now()) }

func newAt(cfg Config, wall time.Time) (*Agent, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	incarnation, unstored, err := incarnate(cfg.StateFile, wall, writeIncarnation)
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, mail: newMailbox(), followed: map[string]reign{}}
	if unstored != nil {
		a.mail.put(Unstored{File: cfg.StateFile, Why: unstored})
	}
	a.core = core.New(cfg.settings(incarnation))
	return a, nil
}

// Publish has this node say something under a topic of its own, to all nodes. What it said before under it is replaced.
// When it returns the news is on its way to the neighbours. The body is copied.
func (a *Agent) Publish(namespace, topic string, body []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.statements == nil {
		return ErrStopped
	}
	if err := a.step(core.Publish{Namespace: namespace, Topic: topic, Body: append([]byte{}, body...)}); err != nil {
		return fmt.Errorf("%.80q in namespace %.80q is not published: %w", topic, namespace, err)
	}
	return nil
}

// Withdraw says that this node cannot do a leader's work now, and why. It stands back: for two validities the first time, and for
// twice as long each time that the last one is over, 64 validities at most. A program that cannot work for longer calls it again, as
// long as its cause lasts: while the node stands back it does so from then for as long as before. A namespace that is not known, or has policy paper, is left alone.
func (a *Agent) Withdraw(namespace string, why error) {
	_ = a.do(core.Withdraw{Namespace: namespace, Why: why})
}

// StandBack is Withdraw by a person: it stands for its time, and Return does not end it.
func (a *Agent) StandBack(namespace string, why error) {
	_ = a.do(core.Withdraw{Namespace: namespace, Why: why, Person: true})
}

// Return takes Withdraw back: this node can do a leader's work again. What a person has said is waited for (StandBack).
func (a *Agent) Return(namespace string) { _ = a.do(core.Return{Namespace: namespace}) }

// Seniority says where this node is in the order of candidates: the larger the more senior. It is 0 until it is said, and
// decides only which one is next: nobody pre-empts a leader that works.
func (a *Agent) Seniority(namespace string, value uint64) {
	_ = a.do(core.Seniority{Namespace: namespace, Value: value})
}

// Keep says which connections the caller needs for lines of its own on the transport: to those nodes, by name. Those of the
// last Keep are not needed any more. From the start of Run they are dialled again each second until they are there, where the
// configuration says or, for a node that it does not have, at the address here.
func (a *Agent) Keep(addresses map[string]string) {
	var k core.Keep
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		k.Peers = append(k.Peers, overlay.Peer{Name: name, Address: addresses[name]})
	}
	_ = a.do(k)
}

// Self returns the key of this node.
func (a *Agent) Self() Subject { return a.cfg.self }
