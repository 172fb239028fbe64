package transactions

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/pgcrowd"
	"github.com/conchhq/conch/internal/step"
)

// sharing keeps the endpoints of this process with a configured number of calls a second to its share of them: the nodes
// of a database that use one URL share its key. It is safe for concurrent use, and nil on a standalone node.
type sharing struct {
	meet func(ctx context.Context, places []string) (crowd map[string]int, afresh bool, err error)
	now  func() time.Time
	look step.Wake

	mu     sync.Mutex
	meters []*meter
	leads  map[Chain]int // accounts of the chain that this process leads
	met    bool          // this process may be seen somewhere
}

// meter is an open endpoint.
type meter struct {
	chain  Chain
	url    string
	driver allower
	share  share
}

type allower interface{ Allow(callsPerSecond float64) }

// The places where processes meet: those that have an endpoint open, and of these those that lead.
func (m *meter) place() string   { return "open " + m.url }
func (m *meter) leading() string { return "lead " + m.url }

func newSharing(crowd *pgcrowd.Crowd) *sharing {
	return &sharing{meet: crowd.Meet, now: time.Now, look: step.NewWake(), leads: map[Chain]int{}}
}

// metered is a driver that is kept to its share until it is closed.
type metered struct {
	*evm.Chain
	closed func()
}

// Close closes the connections.
func (m metered) Close() {
	m.Chain.Close()
	m.closed()
}

// open keeps an endpoint to its share. Without a configured number it has none.
func (s *sharing) open(c Chain, e Endpoint, driver *evm.Chain) chain.Chain {
	calls := e.Budget.over(c.Budget).Calls
	if s == nil || calls == 0 {
		return driver
	}
	return metered{driver, s.meter(c, e.URL, calls, driver)}
}

func (s *sharing) meter(c Chain, url string, calls int, driver allower) (closed func()) {
	m := &meter{chain: c, url: url, driver: driver, share: newShare(float64(calls))}
	driver.Allow(m.share.part)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meters = append(s.meters, m)
	s.look.Ring()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, one := range s.meters {
			if one == m {
				s.meters = append(s.meters[:i:i], s.meters[i+1:]...)
			}
		}
		s.look.Ring()
	}
}

// begin notes that this process leads an account of a chain, until end is called.
func (s *sharing) begin(c Chain) (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leads[c]++
	s.look.Ring()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leads[c]--; s.leads[c] > 0 {
			return
		}
		delete(s.leads, c)
		for _, m := range s.meters {
			if m.chain == c {
				m.driver.Allow(m.share.leave())
			}
		}
		s.look.Ring() // the successor has the whole once this process is counted no more
	}
}

// run looks at the others until ctx ends. While the database does not answer, each share stays as it is.
func (s *sharing) run(ctx context.Context) {
	for ctx.Err() == nil {
		again := time.NewTimer(lookAround)
		if !s.once(ctx) {
			again.Stop() // until something is opened
		}
		select {
		case <-s.look:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
	}
}

// once reports whether there is anything to look for again.
func (s *sharing) once(ctx context.Context) (again bool) {
	s.mu.Lock()
	var places []string
	leads := map[Chain]bool{}
	for _, m := range s.meters {
		places = append(places, m.place())
		if s.leads[m.chain] > 0 {
			leads[m.chain] = true
			places = append(places, m.leading())
		}
	}
	if s.mu.Unlock(); len(places) == 0 && !s.met {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookAround)
	defer cancel()
	crowd, afresh, err := s.meet(ctx, places)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met = len(places) > 0 || err != nil
	if err != nil {
		return true
	}
	for _, m := range s.meters {
		if crowd[m.place()] == 0 || leads[m.chain] != (s.leads[m.chain] > 0) {
			continue // it has changed meanwhile: the next look is for it
		}
		m.driver.Allow(m.share.see(s.now(), company{
			all: crowd[m.place()], leaders: crowd[m.leading()], leads: leads[m.chain], afresh: afresh,
		}))
	}
	return s.met
}
