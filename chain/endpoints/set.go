package endpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/pause"
)

// Config configures a Set. Endpoints is required.
type Config struct {
	Endpoints []Endpoint
	// Trouble is told when an endpoint errs or is put aside, and when none is left for a second
	// opinion. It must not block; several goroutines may call it at once.
	Trouble func(err error)
	// Watch is the interval at which the heads of endpoints that are not followed are read (default 10s).
	Watch time.Duration
	// Alone is how long every other endpoint has to be silent before the first one's own word, asked
	// anew, is a second opinion (default 10min).
	Alone time.Duration
}

// Endpoint is one endpoint of the chain.
type Endpoint struct {
	Name    string // without secrets, and different from the others'
	Chain   chain.Chain
	Weight  int  // reads prefer a higher one; default 1
	Private bool // bytes that are sent go to private endpoints alone, if there are any
}

// Set is a chain.Chain of several endpoints.
type Set struct {
	cfg     Config
	members []*member // by falling weight
	writers []*member
	late    sync.WaitGroup // sends that outlive their Submit

	mu      sync.Mutex
	reading *member // reads stick to it
	genesis chain.Hash
}

var _ chain.Chain = (*Set)(nil)

// member is an endpoint with what is known of it.
type member struct {
	Endpoint

	mu      sync.Mutex
	writing map[chain.Account]chan struct{} // accounts with a send under way, one at a time; closed at its end
	aside   error                           // it serves another chain
	faults  int                             // errors in a row
	rests   time.Time                       // not chosen before, if another one is there
	silent  time.Time                       // since when it has given no opinion; zero: it has, when last asked
}

// New returns a Set, and does not connect. The error lists every fault of the configuration.
func New(cfg Config) (*Set, error) {
	cfg.Watch = cmp.Or(cfg.Watch, 10*time.Second)
	cfg.Alone = cmp.Or(cfg.Alone, 10*time.Minute)
	s := &Set{cfg: cfg}
	f := faults.List{Of: "chain/endpoints: "}
	names := map[string]bool{}
	for _, e := range cfg.Endpoints {
		e.Weight = cmp.Or(e.Weight, 1)
		f.Add(e.Chain == nil || e.Name == "" || e.Weight < 0, "endpoint %q needs a name, a chain and a weight above 0", e.Name)
		f.Add(names[e.Name], "two endpoints are named %q: keep one", e.Name)
		names[e.Name] = true
		s.members = append(s.members, &member{Endpoint: e, writing: map[chain.Account]chan struct{}{}})
	}
	f.Add(len(s.members) == 0, "there is no endpoint")
	if err := f.All(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.members, func(a, b *member) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, m := range s.members {
		if m.Private {
			s.writers = append(s.writers, m)
		}
	}
	if s.writers == nil {
		s.writers = s.members
	}
	s.reading = s.members[0]
	return s, nil
}

// Close waits for sends under way, which are bounded by the drivers, and closes the endpoints.
func (s *Set) Close() {
	s.late.Wait()
	for _, m := range s.members {
		if closer, can := m.Chain.(interface{ Close() }); can {
			closer.Close()
		}
	}
}

// restOf returns for how long an endpoint is not chosen after so many errors in a row.
func restOf(failures int) time.Duration {
	return pause.Doubled(time.Second, failures, time.Minute)
}

// noteError takes an error of an endpoint. It reports whether another endpoint may do better.
func (s *Set) noteError(ctx context.Context, m *member, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	m.mu.Lock()
	news := m.faults == 0
	if errors.Is(err, chain.ErrForeign) && m.aside == nil {
		m.aside, news = err, true
	}
	m.faults++
	m.rests = time.Now().Add(restOf(m.faults))
	m.mu.Unlock()
	if news {
		s.trouble(fmt.Errorf("%s: %w", m.Name, err))
	}
	return true
}

func (s *Set) trouble(err error) {
	if s.cfg.Trouble != nil {
		s.cfg.Trouble(err)
	}
}

func (m *member) worked() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults, m.rests, m.aside = 0, time.Time{}, nil
}

// state returns whether the endpoint serves another chain, and whether it rests.
func (m *member) state() (aside, rests bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.aside != nil, time.Now().Before(m.rests)
}

// order returns the endpoints to ask, best first: the one that is read from, the others by weight, then
// those that rest, and last those that are aside, which may have been repaired.
func (s *Set) order() []*member {
	s.mu.Lock()
	reading := s.reading
	s.mu.Unlock()
	rank := func(m *member) int {
		switch aside, rests := m.state(); {
		case aside:
			return 3
		case rests:
			return 2
		case m != reading:
			return 1
		}
		return 0
	}
	order := slices.Clone(s.members)
	slices.SortStableFunc(order, func(a, b *member) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// stick makes reads go to an endpoint.
func (s *Set) stick(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = m
}
