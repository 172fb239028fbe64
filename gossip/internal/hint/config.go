package hint

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/faults"
)

// MostTopics is under how many topics a subject tells news at one time.
const MostTopics = 32

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self        wire.Subject // the key with which Scheme signs
	Host        string       // where this node runs, for others to name it; at most wire.MostName bytes
	Incarnation uint64       // of this start: above those of all starts before, its low bits drawn at random
	Seed        uint64       // of the samples of policy paper
	Scheme      Scheme
	Namespaces  []Namespace   // the same at every node of the overlay
	Round       time.Duration // the unit of ages, the same at every node of the overlay (default 100ms)
	Alone       time.Duration // since its start for which a node without connections does not name itself: it may find others yet (default 0)

	// Reserved are topics of this node, in its first namespace, that find room whatever else it tells: MostTopics at most.
	Reserved []string

	flood int // statements that a peer may bring in a round, and eight times as many at once; tests have fewer, or more
}

// Namespace is a group of subjects that share one leader.
type Namespace struct {
	Name     string
	Policy   string         // Reign or Paper; empty: Reign
	Electors []wire.Subject // who may lead; empty: everybody
	Diameter int            // of the overlay; a heartbeat is valid for 2 × Diameter beats (default 4)
	Every    int            // rounds between two beats of a candidate (default 1 with electors, else 10)
	Paper    PaperConfig    // of policy Paper
}

// The policies' names.
const (
	Reign = "reign"
	Paper = "paper"
)

// PaperConfig has the parameters of document 003 (B1). The default of each is the document's.
type PaperConfig struct {
	Diameter    int           // of the overlay; a vote is valid for 2 × Diameter rounds, and DeltaC (default 8)
	DeltaC      time.Duration // tolerance (default 50ms)
	DeltaE      time.Duration // from the beginning of a round until the vote leaves (default 100ms)
	DeltaD      time.Duration // until the view is updated; above DeltaE (default 200ms)
	DeltaR      time.Duration // of a round; longer ones are steadier and slower (B6; default 300ms)
	Tenure      time.Duration // for which a leader stays that can be reached (B4; default 0, as in the document)
	Hysteresis  int           // rounds in a row that another must win (B5; default 1, as in the document)
	RandomOnTie bool          // the document's: of three that differ one is picked at random. Else the order decides (B3)
}

// Scheme signs and verifies. Verify may be called for what anybody sends.
type Scheme interface {
	Sign(b []byte) []byte
	Verify(by wire.Subject, b, signature []byte) bool
}

func (c Config) withDefaults() Config {
	c.Round = cmp.Or(c.Round, 100*time.Millisecond)
	c.flood = cmp.Or(c.flood, mostBrought)
	c.Namespaces = slices.Clone(c.Namespaces)
	for i, n := range c.Namespaces {
		c.Namespaces[i] = n.WithDefaults()
	}
	return c
}

// WithDefaults returns the namespace with all fields set.
func (n Namespace) WithDefaults() Namespace {
	n.Policy = cmp.Or(n.Policy, Reign)
	n.Diameter = cmp.Or(n.Diameter, 4)
	every := 10
	if len(n.Electors) > 0 {
		every = 1
	}
	n.Every = cmp.Or(n.Every, every)
	n.Paper = n.Paper.withDefaults()
	return n
}

// crowdBeat is how many rounds are between two beats of the electors' leader for everybody.
func (n Namespace) crowdBeat() int { return max(10, n.Every) }

func (p PaperConfig) withDefaults() PaperConfig {
	p.Diameter = cmp.Or(p.Diameter, 8)
	p.DeltaC = cmp.Or(p.DeltaC, 50*time.Millisecond)
	p.DeltaE = cmp.Or(p.DeltaE, 100*time.Millisecond)
	p.DeltaD = cmp.Or(p.DeltaD, 200*time.Millisecond)
	p.DeltaR = cmp.Or(p.DeltaR, 300*time.Millisecond)
	p.Hysteresis = cmp.Or(p.Hysteresis, 1)
	return p
}

// validFor is how long a vote counts.
func (p PaperConfig) validFor() time.Duration {
	return p.DeltaC + time.Duration(2*p.Diameter)*p.DeltaR
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := faults.List{Of: "gossip: "}
	f.Add(c.Self == wire.Subject{}, "the own key is missing")
	f.Add(c.Incarnation == 0, "the incarnation is zero: draw one at each start, above all before")
	f.Add(c.Scheme == nil, "a scheme is required")
	f.Add(len(c.Host) > wire.MostName, "a host of %d bytes: %d at most", len(c.Host), wire.MostName)
	f.Add(c.Round < 0 || c.Alone < 0, "a number is below 0")
	f.Add(len(c.Namespaces) == 0, "there is no namespace")
	f.Add(len(c.Reserved) > MostTopics, "%d topics are reserved: %d at most", len(c.Reserved), MostTopics)
	seen := map[string]bool{}
	for _, n := range c.Namespaces {
		f.Add(n.Name == "" || len(n.Name) > wire.MostName, "a namespace has a name of %d bytes: 1 to %d", len(n.Name), wire.MostName)
		f.Add(seen[n.Name], "the namespace %q is named twice", n.Name)
		seen[n.Name] = true
		f.Join(n.Validate())
	}
	return f.All()
}

// Validate returns an error that lists every fault.
func (n Namespace) Validate() error {
	n = n.WithDefaults()
	f := faults.List{Of: "gossip: the namespace " + n.Name + " "}
	f.Add(n.Policy != Reign && n.Policy != Paper, "has the policy %q: it is %q or %q", n.Policy, Reign, Paper)
	f.Add(n.Diameter < 2, "has a diameter of %d: 2 at least, or a lost beat deposes its leader", n.Diameter)
	f.Add(n.Every < 1, "has beats each %d rounds", n.Every)
	f.Add(len(n.Electors) > mostElectors, "has %d electors: %d at most", len(n.Electors), mostElectors)
	sorted := slices.SortedFunc(slices.Values(n.Electors), func(a, b wire.Subject) int { return slices.Compare(a[:], b[:]) })
	f.Add(len(slices.Compact(sorted)) != len(n.Electors), "names an elector twice")
	p := n.Paper
	f.Add(p.Diameter < 1 || p.Hysteresis < 1 || p.Tenure < 0 || p.DeltaC < 0, "has a parameter below its least one")
	f.Add(p.DeltaE <= 0 || p.DeltaD <= p.DeltaE || p.DeltaR <= p.DeltaD, "has the phases %v, %v and %v: each is longer than the one before", p.DeltaE, p.DeltaD, p.DeltaR)
	return f.All()
}

const (
	mostElectors = 64
	keeps        = 600 // rounds for which news is kept to repair what was lost
	exchanges    = 10  // rounds between two exchanges with a peer
	mostBrought  = 256
	standbys     = 4  // heartbeats that a node relays
	listens      = 3  // beats for which a newcomer raises no reign
	remembers    = 8  // validities for which an old heartbeat may still be on its way: a connection may stall that long
	forgets      = 12 // validities for which a heartbeat of no elector is known as old: longer than remembers, also by a clock that is a fifth too fast
	soon         = 4  // pauses between two exchanges, for which a node that has begun and names nobody exchanges each round
	mostBacks    = 6  // doublings of the time for which a leader stands back
	mostNews     = 1024
	freshNews    = 64      // pieces of news that a node tells and passes on in a round
	mostTold     = 8       // rounds for which it may save them up
	beatsEach    = 4       // heartbeats of a candidate that a node passes on in a round, and eight times as many at once
	mostBeats    = 16      // the same, of those that were none of the first ones until then
	mostLeap     = 1 << 32 // reigns by which a heartbeat is above all that were heard of
	mostRested   = 256     // candidates that are remembered without electors
)
