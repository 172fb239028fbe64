//go:build unix

package agents

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

// Round is the agents' unit of time.
const Round = 100 * time.Millisecond

// namespace is the one whose leader is named.
const namespace = "default"

// settings are what an agent is started with.
type settings struct {
	Name        string `json:"name"`
	Listen      string `json:"listen"`
	Key         string `json:"key"` // this and the next two are files
	Certificate string `json:"certificate"`
	CA          string `json:"ca"`
	Electors    []peer `json:"electors"`
	Contacts    []peer `json:"contacts"`
}

// peer is another agent.
type peer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Key     string `json:"key"` // its fingerprint
}

// one is an agent with its place in the network.
type one struct {
	endpoint *mtls.Endpoint
	agent    *gossip.Agent
}

// open prepares an agent, which listens already.
func (s settings) open(say func(word)) (*one, error) {
	network := mtls.Config{Self: s.Name, Listen: s.Listen, Key: s.Key, Certificate: s.Certificate, CA: s.CA, Roam: true}
	site := gossip.Namespace{Name: namespace}
	cfg := gossip.Config{Namespaces: []gossip.Namespace{site}, Contacts: []string{}, Round: Round, Tell: func(e gossip.Event) { tell(e, say) }}
	for _, e := range s.Electors {
		key, err := mtls.ParseFingerprint(e.Key)
		if err != nil {
			return nil, err
		}
		cfg.Namespaces[0].Electors = append(cfg.Namespaces[0].Electors, gossip.Subject(key))
		if e.Name != s.Name {
			network.Peers = append(network.Peers, mtls.Peer{Name: e.Name, URL: "https://" + e.Address, Key: e.Key})
			cfg.Peers = append(cfg.Peers, gossip.Peer{Name: e.Name, Address: e.Address, Subject: gossip.Subject(key)})
		}
	}
	for _, c := range s.Contacts {
		cfg.Peers = append(cfg.Peers, gossip.Peer{Name: c.Name, Address: c.Address})
		cfg.Contacts = append(cfg.Contacts, c.Name)
	}
	identity, err := mtls.LoadIdentity(s.Key, s.Certificate)
	if err != nil {
		return nil, err
	}
	o := &one{}
	if o.endpoint, err = mtls.New(network); err != nil {
		return nil, err
	}
	cfg.Transport, cfg.Address, cfg.Key = o.endpoint, o.endpoint.Addr().String(), identity.Signer()
	if o.agent, err = gossip.New(cfg); err != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		return nil, errors.Join(err, o.endpoint.Run(over)) // which closes it
	}
	return o, nil
}

// tell says what the bench wants to know.
func tell(e gossip.Event, say func(word)) {
	switch e := e.(type) {
	case gossip.Leader:
		say(word{Kind: named, Name: e.Leader.Name, At: fence.Boottime()})
	case gossip.News:
		say(word{Kind: heard, Name: e.Topic, At: fence.Boottime()})
	}
}

// run runs an agent until the context ends.
func (o *one) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- o.endpoint.Run(ctx) }()
	go func() { ended <- o.agent.Run(ctx) }()
	first := <-ended
	cancel()
	err := errors.Join(first, <-ended)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// count says what the agent has sent.
func (o *one) count() word {
	c := o.agent.Status().Counts
	return word{Kind: counted, Messages: c.MessagesSent, Bytes: c.BytesSent}
}
