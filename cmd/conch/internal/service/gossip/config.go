package gossip

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

// Section is the configuration of the service: [gossip], with the identities of this node and the others.
type Section struct {
	there bool
	Gossip

	peers    peers.Directory // of the same file
	reserved []string        // topics of other services of this node
}

// Gossip is [gossip]. What has no value has the default of package gossip.
type Gossip struct {
	Source     string   // IP address from which this node connects; empty: the system chooses
	Advertise  string   // host:port by which others reach this node; empty: identity.listen
	Contacts   []string // names of peers to join by; nil: all of them
	Electors   []string // names of those that may lead; empty: everybody
	Namespaces []string
	Policy     string
	Diameter   int
	Round      time.Duration // between two heartbeats of a candidate, in policy reign
	Seniority  *int          // nil: by the time of the start

	DeltaC, DeltaE, DeltaD, DeltaR time.Duration // of policy paper, as the fields below
	Tenure                         time.Duration
	Hysteresis                     int
	RandomOnTie                    bool
}

// defaultNamespace is the one of a configuration that names none.
const defaultNamespace = "default"

// Table implements config.Section.
func (*Section) Table() string { return "gossip" }

// Roles implements config.Section: a suggestion is no leadership.
func (*Section) Roles() []config.Role { return nil }

// Everywhere implements config.Everywhere.
func (s *Section) Everywhere() bool { return s.there }

// UsesPeers implements peers.User.
func (s *Section) UsesPeers() bool { return s.there }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.Table(): func(place string, value any) {
		s.there = true
		g := &s.Gossip
		d.Table(place, value, map[string]config.Setter{
			"source": d.Word(&g.Source), "advertise": d.Word(&g.Advertise), "contacts": d.Texts(&g.Contacts), "electors": d.Texts(&g.Electors),
			"namespaces": d.Names(&g.Namespaces), "policy": d.Word(&g.Policy), "round": d.Span(&g.Round),
			"diameter": func(place string, v any) {
				if v == int64(0) { // which would be taken for the default
					d.Fault(place, "0 is too little: leave the key out, or write 2 or more")
					return
				}
				d.Count(&g.Diameter)(place, v)
			},
			"seniority": func(place string, v any) {
				n := 0
				d.Count(&n)(place, v)
				g.Seniority = &n
			},
			"delta_c": d.Span(&g.DeltaC), "delta_e": d.Span(&g.DeltaE), "delta_d": d.Span(&g.DeltaD), "delta_r": d.Span(&g.DeltaR),
			"tenure": d.Span(&g.Tenure), "hysteresis": d.Count(&g.Hysteresis), "random_on_tie": d.Flag(&g.RandomOnTie),
		})
	}}
}

// Settle implements config.Section.
func (s *Section) Settle(_ *config.Decoder, c config.Config) {
	s.peers = peers.Of(c)
	for _, other := range c.Sections {
		if teller, is := other.(config.Teller); is {
			s.reserved = append(s.reserved, teller.Topics()...)
		}
	}
	g := &s.Gossip
	if g.Namespaces == nil {
		g.Namespaces = []string{defaultNamespace}
	}
	if g.Policy == "" || g.Policy == policyEpoch {
		g.Policy = policyReign
	}
	g.Advertise = cmp.Or(g.Advertise, s.peers.Identity.Listen)
}

// contacts returns the names of those by which this node joins.
func (s *Section) contacts() []string {
	names := []string{}
	for _, p := range s.peers.Peers {
		if s.Contacts == nil || slices.Contains(s.Contacts, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// subjects returns the keys of the electors, this node's own among them if it is one. Those without a key, which Validate
// refuses, are left out.
func (s *Section) subjects(self gossip.Subject) (all []gossip.Subject) {
	for _, name := range s.Electors {
		if name == s.peers.Identity.Name {
			all = append(all, self)
		} else if p, known := s.peers.Peer(name); known {
			if key, is := subjectOf(p); is {
				all = append(all, key)
			}
		}
	}
	return all
}

// subjectOf returns the key of a peer; false if a CA says who it is.
func subjectOf(p peers.Peer) (key gossip.Subject, is bool) {
	f, err := mtls.ParseFingerprint(p.Key)
	return gossip.Subject(f), err == nil
}

// The policies' names.
const (
	policyReign = "reign"
	policyEpoch = "epoch" // reign, under its old name
	policyPaper = "paper"
)

// ageUnit is the unit in which ages travel, unless rounds are shorter.
const ageUnit = 100 * time.Millisecond

// pace returns the unit of ages, and how many of them are between two heartbeats of a candidate.
func (g Gossip) pace() (unit time.Duration, every int) {
	switch {
	case g.Round == 0:
		return ageUnit, 0 // the default of package gossip depends on whether there are electors
	case g.Round < ageUnit:
		return g.Round, 1
	}
	return ageUnit, int(g.Round / ageUnit)
}

// rank returns this node's seniority. Of nodes without a number the one that has run for longer is the more senior, as far
// as their clocks agree; all of them come after those that have one.
func (g Gossip) rank(started time.Time) uint64 {
	if g.Seniority != nil {
		return 1<<63 + uint64(*g.Seniority)
	}
	return math.MaxInt64 - uint64(max(0, started.Unix()))
}

// namespaces returns them as package gossip takes them.
func (g Gossip) namespaces(electors []gossip.Subject) (all []gossip.Namespace) {
	_, every := g.pace()
	for _, name := range g.Namespaces {
		n := gossip.Namespace{Name: name, Electors: electors, Every: every, Diameter: g.Diameter}
		if g.Policy == policyPaper {
			n.Diameter, n.Paper = 0, &gossip.Paper{
				Diameter: g.Diameter, DeltaC: g.DeltaC, DeltaE: g.DeltaE, DeltaD: g.DeltaD, DeltaR: g.DeltaR,
				Tenure: g.Tenure, Hysteresis: g.Hysteresis, RandomOnTie: g.RandomOnTie,
			}
		}
		all = append(all, n)
	}
	return all
}
