package gossip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/gossip"
)

const (
	leastRound = 20 * time.Millisecond
	mostRound  = time.Minute

	mostElectors = 64 // package gossip's
)

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if !s.there {
		return
	}
	for _, other := range c.Sections {
		if user, is := other.(peers.User); is && other != config.Section(s) && user.UsesPeers() {
			d.Fault("gossip", "[gossip] and [[%s]] cannot share a node: its peers could connect only while it leads the %s. Run two nodes, each with an [identity] of its own", other.Table(), other.Table())
		}
	}
	if n := len(s.reserved); n > gossip.MostTopics {
		d.Fault("logs", "%d logs are too many for a node: gossip tells of each one under a topic of its own, and a node has %d of them", n, gossip.MostTopics)
	}
	s.validateAddresses(d)
	s.validateMembers(d)
	s.validateElectors(d)
	s.validateNamespaces(d)
	s.validatePolicy(d)
}

// validateAddresses has this node be one that others can reach.
func (s *Section) validateAddresses(d *config.Decoder) {
	if _, err := netip.ParseAddr(s.Source); err != nil && s.Source != "" {
		d.Fault("gossip.source", `%q is not an IP address such as "10.0.0.7"`, s.Source)
	}
	listen := s.peers.Identity.Listen
	if s.Advertise == "" {
		return // identity.listen is missing, and has that fault
	}
	host, _, err := net.SplitHostPort(s.Advertise)
	ip, _ := netip.ParseAddr(host)
	nowhere := host == "" || ip.IsUnspecified()
	switch {
	case err != nil && s.Advertise == listen:
		d.Fault("identity.listen", `%q is not host:port, such as "0.0.0.0:7443"`, listen)
	case err != nil:
		d.Fault("gossip.advertise", `%q is not host:port, such as "10.0.0.7:7443"`, s.Advertise)
	case nowhere && s.Advertise == listen:
		d.Fault("gossip.advertise", `is missing: nobody can connect to %s, where this node listens. Write its address as the others know it, such as "10.0.0.7:7443"`, listen)
	case nowhere:
		d.Fault("gossip.advertise", `nobody can connect to %q: write an address of this node, such as "10.0.0.7:7443"`, s.Advertise)
	}
}

// validateMembers has the overlay be one that somebody can join.
func (s *Section) validateMembers(d *config.Decoder) {
	if len(s.peers.Peers) == 0 && s.peers.Identity.CA == "" {
		d.Fault("gossip", "nobody could connect: name the other nodes in [[peers]], or in identity.ca the CA whose certificates may join")
	}
	for i, name := range s.Contacts {
		if _, known := s.peers.Peer(name); !known && name != s.peers.Identity.Name { // one list fits all nodes
			d.Fault(fmt.Sprintf("gossip.contacts[%d]", i), "%q is none of the [[peers]]: add it there, or take it out", name)
		}
	}
}

// validateElectors has each elector be known by its key: no CA is asked who may lead.
func (s *Section) validateElectors(d *config.Decoder) {
	if len(s.Electors) > mostElectors {
		d.Fault("gossip.electors", "%d are too many: %d at most. Seven are enough for thousands of nodes", len(s.Electors), mostElectors)
	}
	for i, name := range s.Electors {
		place := fmt.Sprintf("gossip.electors[%d]", i)
		p, known := s.peers.Peer(name)
		switch {
		case slices.Index(s.Electors, name) < i:
			d.Fault(place, "%q is there twice", name)
		case name == s.peers.Identity.Name:
		case !known:
			d.Fault(place, "%q is neither this node nor one of the [[peers]]: add it there, with its key", name)
		case p.Key == "":
			d.Fault(place, "%q has no key in [[peers]], and an elector is known by its key: write there what conch identity show prints on it", name)
		}
	}
}

func (s *Section) validateNamespaces(d *config.Decoder) {
	if len(s.Namespaces) == 0 {
		d.Fault("gossip.namespaces", `is empty: name one, or leave the key out, which means ["%s"]`, defaultNamespace)
	}
	for i, name := range s.Namespaces {
		place := fmt.Sprintf("gossip.namespaces[%d]", i)
		switch {
		case name == "" || len(name) > gossip.MostName:
			d.Fault(place, "%q has %d bytes: a namespace has 1 to %d", name, len(name), gossip.MostName)
		case slices.Index(s.Namespaces, name) < i:
			d.Fault(place, "%q is there twice", name)
		}
	}
}

func (s *Section) validatePolicy(d *config.Decoder) {
	if s.Policy != policyReign && s.Policy != policyPaper {
		d.Fault("gossip.policy", "%q is none of %s, %s", s.Policy, policyReign, policyPaper)
		return
	}
	if s.Policy == policyPaper {
		if len(s.Electors) > 0 {
			d.Fault("gossip.electors", "policy %s knows no electors, and everybody may lead: take them out, or write policy = \"%s\"", policyPaper, policyReign)
		}
		if s.Round != 0 {
			d.Fault("gossip.round", "is of policy %s: with policy %s the length of a round is delta_r", policyReign, policyPaper)
		}
		s.validatePaper(d)
		return
	}
	for _, k := range []struct {
		key   string
		given bool
	}{
		{"delta_c", s.DeltaC != 0}, {"delta_e", s.DeltaE != 0}, {"delta_d", s.DeltaD != 0}, {"delta_r", s.DeltaR != 0},
		{"tenure", s.Tenure != 0}, {"hysteresis", s.Hysteresis != 0}, {"random_on_tie", s.RandomOnTie},
	} {
		if k.given {
			d.Fault("gossip."+k.key, `is of policy %s alone: write policy = "%s", or take it out`, policyPaper, policyPaper)
		}
	}
	switch {
	case s.Round == 0:
	case s.Round < leastRound || s.Round > mostRound:
		d.Fault("gossip.round", "%v is not between %v and %v", s.Round, leastRound, mostRound)
	case s.Round > ageUnit && s.Round%ageUnit != 0:
		d.Fault("gossip.round", "%v is not a multiple of %v", s.Round, ageUnit)
	}
	if s.Diameter == 1 {
		d.Fault("gossip.diameter", "1 is too little: one lost heartbeat would depose a leader. Leave the key out, or write 2 or more")
	}
}

// validatePaper adds the faults that package gossip finds in the parameters of its policy paper.
func (s *Section) validatePaper(d *config.Decoder) {
	g := Gossip{Namespaces: []string{defaultNamespace}, Policy: policyPaper}
	g.Diameter, g.DeltaC, g.DeltaE, g.DeltaD, g.DeltaR = s.Diameter, s.DeltaC, s.DeltaE, s.DeltaD, s.DeltaR
	g.Tenure, g.Hysteresis = s.Tenure, s.Hysteresis
	if err := g.namespaces(nil)[0].Validate(); err != nil {
		for text := range strings.SplitSeq(err.Error(), "\n") {
			d.Fault("gossip", "%s", strings.TrimPrefix(text, "gossip: the namespace "+defaultNamespace+" "))
		}
	}
}
