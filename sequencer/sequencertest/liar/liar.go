// Package liar is a member that lies: a whole node behind its messages, so that all that is no lie is right. Tests have it in one
// process, and as a program that is conch but for what it tells.
package liar

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// mostSeen is of how many attempts, the newest, a liar knows the contents. A lie about all of them fits into a message.
const mostSeen = 200

// member is a node that lies. It has one contract.
type member struct {
	cfg  sequencer.Config
	lie  Lie
	told func(kind string)

	mu        sync.Mutex
	delegated map[string][]wire.Step // what it was handed last, by peer
	seen      []wire.Whole           // what it was asked to endorse
	next      ranking.Range          // the one after that for which it was asked
	made      uint64                 // intents and requests that it has made up
}

// Tells has a node lie. It calls told each time with the kind of the message that the lie is about, from any goroutine.
func (l Lie) Tells(cfg sequencer.Config, told func(kind string)) sequencer.Config {
	m := &member{cfg: cfg, lie: l, told: told, delegated: map[string][]wire.Step{}}
	cfg.Transport = endpoint{cfg.Transport, m}
	if l.Withholds {
		cfg.Contracts = slices.Clone(cfg.Contracts)
		for i := range cfg.Contracts {
			cfg.Contracts[i].Ledger = neverSubmits{cfg.Contracts[i].Ledger}
		}
	}
	return cfg
}

// neverSubmits is a ledger to which nothing is submitted. Nothing reviews that.
type neverSubmits struct{ sequencer.Ledger }

func (neverSubmits) Submit(context.Context, ledger.Sent) error { return nil }

// hears remembers what a lie may need.
func (m *member) hears(from string, body wire.Body) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch b := body.(type) {
	case wire.Delegate:
		m.delegated[from] = nil
		for _, o := range b.Intents {
			m.delegated[from] = append(m.delegated[from], wire.Step{Sequence: o.Sequence, Delegation: b.Delegation})
		}
	case wire.Endorse:
		m.seen = append(m.seen, b.Attempts...)
		m.seen = m.seen[max(0, len(m.seen)-mostSeen):]
		m.next = b.Range + 1
	}
}

// states returns those that the attempts make which the member has seen.
func (m *member) states() (all []ledger.StateID) {
	k := m.cfg.Contracts[0]
	for _, w := range m.seen {
		for i := range w.Outputs {
			all = append(all, k.Scheme.State(k.Scheme.Assembled(k.Declared, w.Attempt), i))
		}
	}
	return all
}

// forged is an attempt on a state that the member has made up: all that it can sign itself is signed.
func (m *member) forged(id ledger.StateID) (e wire.Dispatch) {
	k := m.cfg.Contracts[0]
	e.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: m.cfg.Self, Sequence: m.sequence()}, Payload: domain.PayloadHash(nil), Inputs: []ledger.StateID{id}}
	e.Grant = ledger.Grant{Assembled: k.Scheme.Assembled(k.Declared, e.Attempt), Coordinator: m.cfg.Self, ValidUntil: 1 << 40}
	e.Grant.Signature, _ = m.cfg.Keys.Sign(k.Scheme.Granted(k.Declared, e.Grant)) // without one nothing is sent
	for i := range k.Declared.Needed {
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: e.Grant.Signature})
	}
	return e
}

// sequence is one that no user of the member has.
func (m *member) sequence() ledger.Sequence {
	m.made++
	return ledger.Sequence{Lineage: 9, Counter: m.made}
}

// endpoint is a liar's place in the network.
type endpoint struct {
	transport.Endpoint

	m *member
}

func (e endpoint) Open(subject string) (transport.Line, error) {
	l, err := e.Endpoint.Open(subject)
	if err != nil {
		return nil, err
	}
	w := &line{Line: l, m: e.m, inbox: make(chan transport.Envelope), over: make(chan struct{})}
	go w.listens()
	return w, nil
}

type line struct {
	transport.Line

	m     *member
	inbox chan transport.Envelope
	over  chan struct{}
	once  sync.Once
}

// listens passes on what arrives.
func (l *line) listens() {
	for {
		select {
		case e := <-l.Line.Inbox():
			if msg, err := wire.Decode(e.Body[1:]); err == nil && e.Body[0] == 0 {
				l.m.hears(e.From, msg.Body)
			}
			select {
			case l.inbox <- e:
			case <-l.over:
				return
			}
		case <-l.over:
			return
		}
	}
}

func (l *line) Inbox() <-chan transport.Envelope { return l.inbox }

func (l *line) Close() {
	l.once.Do(func() { close(l.over) })
	l.Line.Close()
}

func (l *line) Send(to string, bytes []byte) error {
	if bytes[0] != 0 {
		return l.Line.Send(to, l.m.beats(bytes))
	}
	msg, err := wire.Decode(bytes[1:])
	if err != nil {
		return err
	}
	if !slices.Contains(l.m.lie.about, msg.Body.Kind()) {
		return l.Line.Send(to, bytes)
	}
	l.m.told(msg.Body.Kind().String())
	for _, told := range l.m.instead(to, msg) {
		out, err := wire.Encode(told)
		if err == nil {
			err = l.Line.Send(to, append([]byte{0}, out...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instead returns what a member says instead of a message.
func (m *member) instead(to string, msg wire.Message) (all []wire.Message) {
	if m.lie.says == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, body := range m.lie.says(m, to, msg.Body) {
		told := msg
		told.Body = body
		switch _, asks := body.(wire.AskHandover); {
		case i > 0 && asks:
			m.made++
			told.Request, told.Wait = wire.RequestID{Incarnation: wire.Incarnation{9}, Number: m.made}, time.Second
		case i > 0:
			told.Request = wire.RequestID{} // a notice
		}
		all = append(all, told)
	}
	return all
}

// beats returns a heartbeat as a member sends it that lies in its lists.
func (m *member) beats(bytes []byte) []byte {
	b, err := wire.DecodeBeat(bytes[1:])
	if err != nil || !slices.Contains(m.lie.about, wire.KindList) {
		return bytes
	}
	for i := range b.Contracts {
		b.Contracts[i].Digest = wire.Digest{}
	}
	out, err := wire.EncodeBeat(b)
	if err != nil {
		return bytes
	}
	return append([]byte{1}, out...)
}
