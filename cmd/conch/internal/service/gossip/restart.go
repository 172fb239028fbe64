package gossip

import (
	"reflect"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
)

// Restarts implements config.Fixed.
func (*Section) Restarts(began, fresh config.Config) (keys []string) {
	was, is := config.Of[*Section](began), config.Of[*Section](fresh)
	switch {
	case was == nil || !was.there && !is.there:
		return nil
	case was.there != is.there:
		return []string{was.Table()}
	}
	for _, k := range []struct {
		key     string
		was, is any
	}{
		{"identity", was.peers.Identity, is.peers.Identity},
		{"peers", was.known(), is.known()},
		{"gossip.source", was.Source, is.Source},
		{"gossip.advertise", was.Advertise, is.Advertise},
		{"gossip.contacts", was.Contacts, is.Contacts},
		{"gossip.electors", was.electors(), is.electors()},
		{"gossip.namespaces", was.Namespaces, is.Namespaces},
		{"gossip.policy", was.Policy, is.Policy},
		{"gossip.diameter", was.Diameter, is.Diameter},
		{"gossip.round", was.Round, is.Round},
		{"gossip.delta_c", was.DeltaC, is.DeltaC},
		{"gossip.delta_e", was.DeltaE, is.DeltaE},
		{"gossip.delta_d", was.DeltaD, is.DeltaD},
		{"gossip.delta_r", was.DeltaR, is.DeltaR},
		{"gossip.tenure", was.Tenure, is.Tenure},
		{"gossip.hysteresis", was.Hysteresis, is.Hysteresis},
		{"gossip.random_on_tie", was.RandomOnTie, is.RandomOnTie},
	} {
		if !reflect.DeepEqual(k.was, k.is) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// electors returns who may lead, with their keys and where they listen.
func (s *Section) electors() (all []peers.Peer) {
	for _, name := range s.Electors {
		p, _ := s.peers.Peer(name)
		p.Name = name
		all = append(all, p)
	}
	return all
}

// known returns whom this node calls without being told by others, where, and by which key it knows what they say. A reload
// decides at once who may connect; by whom this node joins, and whose news is proven, is read once.
func (s *Section) known() (all []peers.Peer) {
	for _, p := range s.peers.Peers {
		all = append(all, peers.Peer{Name: p.Name, URL: p.URL, Key: p.Key})
	}
	slices.SortFunc(all, func(a, b peers.Peer) int { return strings.Compare(a.Name, b.Name) })
	return all
}
