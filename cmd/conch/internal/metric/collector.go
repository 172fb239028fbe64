package metric

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Collector keeps the metrics of a set of scopes. All methods are safe for concurrent use.
type Collector struct {
	gate  func(scope string) *fence.Gate
	clock fence.Clock
	all   *tally       // counters and histograms of all scopes together; nil: each scope has its own
	made  *dto.Counter // has the instant at which counting began

	mu     sync.Mutex
	scopes map[string]*state
	order  []string // sorted
}

// state is what is known of one scope: what is counted, and what its gauges are computed from.
type state struct {
	*tally

	leads    bool
	epoch    int64
	since    fence.Instant // when the token arrived
	free     fence.Instant // when the first bid that found no other holder was sent
	seeking  bool          // free is set
	beaten   fence.Instant // the last heartbeat that this process knows of, of any holder
	anyBeats bool          // beaten is set
	unledAt  fence.Instant // since when nobody has led
	unled    bool          // unledAt is set
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a collector in which every scope has all its metrics, at 0. gate returns nil for a
// scope that has no gate yet. clock must be that of the electors; nil means [fence.Boottime].
func New(scopes []string, gate func(scope string) *fence.Gate, clock fence.Clock) *Collector {
	return newCollector(scopes, gate, clock, nil)
}

// NewSummed is like [New], but what is counted is counted for all scopes together, without the label scope: the gauges alone are of each
// scope. With ten thousand scopes the page has a tenth of the lines.
func NewSummed(scopes []string, gate func(scope string) *fence.Gate, clock fence.Clock) *Collector {
	return newCollector(scopes, gate, clock, &tally{})
}

func newCollector(scopes []string, gate func(scope string) *fence.Gate, clock fence.Clock, all *tally) *Collector {
	if clock == nil {
		clock = fence.Boottime
	}
	c := &Collector{gate: gate, clock: clock, all: all, scopes: map[string]*state{}}
	c.made = born()
	c.Add(scopes...)
	return c
}

// Add makes further scopes known, for instance after a reload; known scopes go on unchanged. No
// scope is ever forgotten: its counters must not begin again if it comes back.
func (c *Collector) Add(scopes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range scopes {
		if c.scopes[name] != nil {
			continue
		}
		s := &state{tally: c.all}
		if s.tally == nil {
			s.tally = &tally{}
		}
		c.scopes[name] = s
		c.order = append(c.order, name)
	}
	slices.Sort(c.order)
}

// Events returns the events that every elector of these scopes must report to.
func (c *Collector) Events() election.Events {
	return election.Events{Fact: c.fact, Beat: c.beaten, Attempt: c.attempted}
}

// Blocked counts a transmission that a shut gate refused (S17).
func (c *Collector) Blocked(scope string) { c.at(scope, func(s *state) { s.counts[blocked]++ }) }

// Failed counts a failure of the scope's role that is not reported as a fact of an elector.
func (c *Collector) Failed(scope string, why error) {
	c.at(scope, func(s *state) { s.counts[failed+slices.Index(Failures[:], failure(why))]++ })
}

// at runs f on the state of a scope, if it is known.
func (c *Collector) at(name string, f func(*state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.scopes[name]; s != nil {
		f(s)
	}
}

func (c *Collector) fact(f election.Fact) {
	now := c.clock()
	switch f.Kind {
	case election.Unled:
		c.at(f.Scope, func(s *state) { s.unledAt, s.unled = now.Add(-f.Took), true })
	case election.Retrying:
		if f.Scope == "" { // the session is over, so this process no longer knows who leads
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, s := range c.scopes {
				s.unled = false
			}
		}
	case election.Failing:
		c.Failed(f.Scope, f.Err)
	case election.Acquired:
		c.at(f.Scope, func(s *state) {
			s.leads, s.epoch, s.since, s.unled = true, f.Token.Epoch, now, false
			s.counts[acquired]++
			s.counts[begun]++
			if !f.Handoff && f.Token.Epoch > 1 { // the first epoch has no predecessor
				s.counts[failovers]++
			}
		})
	case election.Draining, election.Lost:
		// A leadership is over when its gate shuts, so Released and Abandoned do not count.
		// Lost can follow Draining, and the leadership is counted once.
		c.at(f.Scope, func(s *state) {
			if s.leads {
				s.leads = false
				s.counts[lost+slices.Index(Reasons[:], reason(f))]++
			}
		})
	}
}

func (c *Collector) beaten(h election.Heartbeat) {
	for i, ok := range h.Renewed {
		if ok {
			c.at(h.Scopes[i], func(s *state) {
				s.beaten, s.anyBeats = h.Sent, true
				s.times[beat].observe(ms(h.Took))
			})
		}
	}
}

func (c *Collector) attempted(b election.Bidding) {
	for _, name := range b.Scopes {
		c.at(name, func(s *state) { s.counts[attempts]++ })
	}
	for i, r := range b.Results {
		c.at(b.Scopes[i], func(s *state) {
			if took, won := s.result(b, r); won {
				s.times[acquire].observe(ms(took))
			}
		})
	}
}

// result takes the answer to one bid. If the bid won, it returns how long that took.
func (s *state) result(b election.Bidding, r mint.Result) (took time.Duration, won bool) {
	switch r.Outcome {
	case mint.Won:
		from := b.Sent
		if s.seeking {
			from = s.free
		}
		s.seeking = false
		s.beaten, s.anyBeats = b.Sent, true // a mint is the first heartbeat of its term
		return b.Sent.Add(b.Took).Sub(from), true
	case mint.Busy:
		if !s.seeking {
			s.free, s.seeking = b.Sent, true
		}
	case mint.Held, mint.Yield, mint.Refused, mint.Full:
		s.seeking = false
	}
	if r.Process != 0 { // a live process leads
		s.unled = false
	}
	if r.Holder != "" {
		// The age was measured after b.Sent: the heartbeat seems too old by a part of the round
		// trip, never too young.
		s.beaten, s.anyBeats = b.Sent.Add(-r.Age), true
	}
	return 0, false
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
