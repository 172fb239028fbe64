package gossip

import (
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

// Nodes is what a node of the overlay knows.
type Nodes struct {
	AsOf        time.Time         `json:"as_of"`
	Self        string            `json:"self"`
	Fingerprint string            `json:"fingerprint"`
	Address     string            `json:"address"` // by which others reach this node
	Namespaces  []Namespace       `json:"namespaces"`
	Neighbours  []Neighbour       `json:"neighbours"`
	Overlay     Overlay           `json:"overlay"`
	News        []Item            `json:"news"`
	Contacts    []string          `json:"contacts"`  // by which this node joins
	Unreached   []Unreached       `json:"unreached"` // peers of the configuration to which the last call of this node has failed
	Twins       []Twin            `json:"twins"`
	Refused     map[string]uint64 `json:"refused"` // by reason, since the start of the node; what is 0 is left out
	Troubles    []Trouble         `json:"troubles"`
}

// Namespace says which node this one suggests in a namespace. Leader, its fingerprint and Since are null where nobody is known.
type Namespace struct {
	Namespace         string     `json:"namespace"`
	Policy            string     `json:"policy"`
	Leader            *string    `json:"leader"`
	LeaderFingerprint *string    `json:"leader_fingerprint"`
	LeaderProven      bool       `json:"leader_proven"` // its name is the configuration's or a neighbour's; else it is its own word
	Reign             uint64     `json:"reign"`
	Since             *time.Time `json:"since"`
	Leads             bool       `json:"leads"`
	State             string     `json:"state"`
	BackMS            int64      `json:"back_ms,omitempty"` // for which this node still stands back
	HeardMS           *int64     `json:"heard_ms"`
	ValidMS           int64      `json:"valid_ms"`
	Changes           int        `json:"changes"`
	Electors          []string   `json:"electors"`
	UnledSince        *time.Time `json:"unled_since,omitempty"`     // since when nobody is known
	MajorityLost      *time.Time `json:"majority_lost,omitempty"`   // since when this node, an elector, hears no majority of them
	ElectorsSilent    []string   `json:"electors_silent,omitempty"` // those that this node does not hear, if it is one of them
}

// Unreached is a peer to which nothing could be sent when that was tried last.
type Unreached struct {
	Name  string    `json:"name"`
	Why   string    `json:"why"` // a reason of package mtls
	Since time.Time `json:"since"`
}

// Twin is a node whose key or name two hosts have, as was seen in the last hour.
type Twin struct {
	Name     string    `json:"name"`
	LastSeen time.Time `json:"last_seen"`
	Over     bool      `json:"over"` // it was not seen for so long that one of the two is gone
}

// Neighbour is a peer to which there is a connection.
type Neighbour struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"`
	Arcs        int       `json:"arcs"`
	Elector     bool      `json:"elector"`
	Differs     []string  `json:"differs"` // keys of [gossip] in which it is configured otherwise
	Since       time.Time `json:"since"`
}

// Overlay is this node's place in it.
type Overlay struct {
	Arcs       int  `json:"arcs"`
	Joining    bool `json:"joining"`
	Remembered int  `json:"remembered"`
}

// Item is a piece of news.
type Item struct {
	Namespace     string `json:"namespace"`
	Topic         string `json:"topic"`
	Subject       string `json:"subject"`        // that says it
	SubjectProven bool   `json:"subject_proven"` // its name; else that is its own word
	Fingerprint   string `json:"fingerprint"`
	Body          []byte `json:"body"`
	AgeMS         int64  `json:"age_ms"`
}

// called returns what a node is called: by its name, or by its key if nobody knows that.
func called(n gossip.Node) string {
	if n.Name == "" {
		return fingerprint(n.Subject)
	}
	return n.Name
}

// fingerprint writes a key as conch identity show does; empty if it is not known.
func fingerprint(s gossip.Subject) string {
	if s == (gossip.Subject{}) {
		return ""
	}
	return mtls.Fingerprint(s).String()
}

func nodesOf(m running, twins []Twin, now time.Time) Nodes {
	s, differs := m.Status(), m.Differs
	n := Nodes{
		AsOf: now.UTC(), Self: s.Self.Name, Fingerprint: fingerprint(s.Self.Subject), Address: s.Self.Address,
		Namespaces: []Namespace{}, Neighbours: []Neighbour{}, News: []Item{}, Refused: map[string]uint64{}, Twins: append([]Twin{}, twins...),
		Contacts: append([]string{}, m.Contacts()...), Unreached: append([]Unreached{}, m.Unreached()...),
		Overlay: Overlay{Arcs: s.Arcs, Joining: s.Joining, Remembered: len(s.Remembered)},
	}
	for _, one := range s.Hints {
		n.Namespaces = append(n.Namespaces, namespaceOf(one))
	}
	for _, p := range s.Neighbours {
		n.Neighbours = append(n.Neighbours, Neighbour{called(p.Node), fingerprint(p.Subject), p.Arcs, p.Elector, append([]string{}, differs(p.Name)...), p.Since.UTC()})
	}
	for _, i := range s.News {
		if strings.HasPrefix(i.Topic, node.LogTopics) {
			continue
		}
		n.News = append(n.News, Item{i.Namespace, i.Topic, called(i.Subject), i.Subject.Proven, fingerprint(i.Subject.Subject), append([]byte{}, i.Body...), i.Age.Milliseconds()})
	}
	for reason, count := range s.Counts.Refused {
		if count > 0 {
			n.Refused[reason] = count
		}
	}
	n.Troubles = append([]Trouble{}, troublesOf(n, inUTC)...)
	return n
}

// instant returns a time for JSON; nil if there is none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func namespaceOf(s gossip.Hint) Namespace {
	n := Namespace{
		Namespace: s.Namespace, Policy: s.Policy, LeaderProven: s.Leader.Proven, Reign: s.Reign, Leads: s.Leads, State: s.State,
		BackMS: s.Back.Milliseconds(), ValidMS: s.Valid.Milliseconds(), Changes: s.Changes, Electors: []string{},
	}
	if s.Leader != (gossip.Node{}) {
		name, key, since := called(s.Leader), fingerprint(s.Leader.Subject), s.Since.UTC()
		n.Leader, n.LeaderFingerprint, n.Since = &name, &key, &since
		if s.Heard >= 0 {
			n.HeardMS = new(s.Heard.Milliseconds())
		}
	}
	for _, e := range s.Electors {
		n.Electors = append(n.Electors, called(e))
	}
	for _, e := range s.Silent {
		n.ElectorsSilent = append(n.ElectorsSilent, called(e))
	}
	n.UnledSince, n.MajorityLost = instant(s.Unled), instant(s.Lacking)
	return n
}
