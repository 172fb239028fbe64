//go:build unix

package consortium

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// supervisor watches the nodes, restarts them, and harms them. It belongs to one goroutine.
type supervisor struct {
	*site
	screen    *screen.Screen
	customers []*customers      // one for each organisation, in its order
	readers   []*pgnotes.Reader // nil: to be opened again

	begun   time.Time // the contract has money, and the payments begin
	plan    []Fault   // of chaos
	faultAt time.Time // the next fault; zero: none
	next    Fault
	faults  int       // so far
	healAt  time.Time // the end of the partition; zero: there is none
	wakeAt  time.Time // the end of the pause
	asleep  *organisation
	killed  time.Time     // when the last coordinator was killed, until the next dispatch was seen; else zero
	fallen  *organisation // that coordinator
	ending  time.Time     // no more faults and requests; zero: not yet
	target  uint64        // all nodes have to have this block as final before they are judged; 0: not known
	over    bool
	drawAt  time.Time
	sum     int       // of what has happened
	sumAt   time.Time // since when
	stuck   string    // why chaos was ended before its plan was

	stopAsking                context.CancelFunc
	kills, pauses, partitions int
	dispatches                []time.Duration
	troubles                  []auditor.Trouble
	troubled                  time.Time // until then there is trouble; zero: there is none

	// Of chaos.
	looking  context.Context // of whatever the customers do
	counted  map[string]int  // faults, by their kinds
	saved    *saving
	restores []auditor.Restore
	holds    []auditor.Held
	rightAt  time.Time // when the clock is turned back; zero: it is right
	oldHead  uint64    // the head that a node is shown; 0: none
	robbing  sync.WaitGroup
	expired  *ending // the certificate that is about to end, or has
	endings  []auditor.Ended
}

// supervise runs and harms the nodes until the duration is over or asked ends, then waits until everything has ended, or
// that takes too long.
func (s *supervisor) supervise(asked, looking context.Context) error {
	ctx := context.WithoutCancel(asked)
	for _, o := range s.All {
		if err := s.start(o); err != nil {
			return err
		}
	}
	s.readers = make([]*pgnotes.Reader, len(s.All))
	s.looking = looking
	asking, stop := context.WithCancel(looking)
	s.stopAsking = stop
	defer stop()
	issued := s.issue(asking, looking)
	begin := time.NewTimer(warmup)
	defer begin.Stop()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for !s.over {
		select {
		case <-begin.C:
			if s.begun.IsZero() {
				return fmt.Errorf("the notes were not issued within %s%s", warmup, s.All[0].Said())
			}
		case <-issued:
			issued = nil
			s.begin(asking, looking)
		case n := <-s.News:
			s.ended(n)
		case now := <-tick.C:
			if err := s.Fallen(); err != nil {
				return err
			}
			if asked.Err() != nil || !s.begun.IsZero() && s.enough(now) {
				if err := s.settle(ctx, now); err != nil {
					return err
				}
			}
			if err := s.look(ctx, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// issue has the first organisation fill the purses, and returns a channel that is closed when they are.
func (s *supervisor) issue(asking, looking context.Context) <-chan struct{} {
	first, issued := s.customers[0], make(chan struct{})
	for _, c := range s.customers {
		c.working.Go(func() { c.looks(looking) })
	}
	first.working.Go(func() {
		for n := range purseNotes * len(purses) {
			first.request(asking, fmt.Sprintf("issue-%d", n), fmt.Sprintf(`{"issue":{"to":%q,"amount":%d}}`, purses[n%len(purses)], noteAmount), 0, false)
		}
		for asking.Err() == nil && !first.settled() {
			_ = pause.For(asking, askAgain)
		}
		if asking.Err() == nil {
			close(issued)
		}
	})
	return issued
}

func (s *supervisor) begin(asking, looking context.Context) {
	s.begun = time.Now()
	if !s.ending.IsZero() {
		return
	}
	s.draw(s.begun)
	if s.bandit != nil {
		s.robbing.Go(func() { s.bandit.Run(looking) })
		s.screen.Note("an attacker watches the chain's pool")
	}
	s.screen.Note("%d notes are issued; payments flow from %d organisations", purseNotes*len(purses), len(s.All))
	for _, c := range s.customers {
		c.working.Go(func() { c.pays(asking, looking) })
	}
}

// stands reports whether nothing has happened in chaos for longer than anything takes: its end would never come.
func (s *supervisor) stands(now time.Time) bool {
	sum, asked := s.faults, 0
	for _, c := range s.customers {
		at := c.seen()
		sum, asked = sum+at.asked+at.confirmed+at.reverted, asked+at.asked
	}
	if sum != s.sum || s.sumAt.IsZero() {
		s.sum, s.sumAt = sum, now
	}
	if now.Sub(s.sumAt) < settleMost {
		return false
	}
	s.stuck = fmt.Sprintf("nothing has happened for %s, after %d of %d faults and %d of at least %d requests", settleMost, s.faults, len(s.plan), asked, s.cfg.Chaos.Intents)
	return true
}

// enough reports whether it is time for the end: of the demo's duration, or of the plan with as many requests as are wanted.
func (s *supervisor) enough(now time.Time) bool {
	if !s.ending.IsZero() {
		return true
	}
	if s.cfg.Chaos != nil && s.stands(now) {
		return true
	}
	if d := s.cfg.Duration; d > 0 && now.Sub(s.begun) >= d || s.cfg.Chaos == nil {
		return d > 0 && now.Sub(s.begun) >= d
	}
	asked := 0
	for _, c := range s.customers {
		asked += c.seen().asked
	}
	over := s.healAt.IsZero() && s.asleep == nil && s.saved == nil && s.rightAt.IsZero() && s.oldHead == 0 && s.expired == nil
	return over && s.faultAt.IsZero() && asked >= s.cfg.Chaos.Intents
}

// settle ends faults and requests, and makes everybody whole.
func (s *supervisor) settle(ctx context.Context, now time.Time) error {
	if !s.ending.IsZero() {
		return nil
	}
	s.ending, s.faultAt = now, time.Time{}
	s.stopAsking()
	s.wake()
	s.heal()
	err := s.makeWhole(ctx)
	if s.stuck != "" {
		s.screen.Note("%s", s.stuck)
	}
	s.screen.Note("no more faults; waiting until every transaction has ended …")
	return err
}

// ended notes the end of a process.
func (s *supervisor) ended(n fleet.News) {
	o := s.Of(n.From)
	if o == nil || !n.Ended {
		return
	}
	if !o.Killed {
		s.screen.Note("%s ended unexpectedly: %s", o.Name, n.From.LastWords())
	}
	s.bury(o)
}

// bury has a dead node started again.
func (s *supervisor) bury(o *organisation) {
	o.Bury()
	if o.Back = time.Now().Add(restartAfter); s.asleep == o {
		s.asleep = nil
	}
}

// look does what is due: restart, fault, draw. It notes when everything is over.
func (s *supervisor) look(ctx context.Context, now time.Time) error {
	for _, o := range s.Due(now) {
		if err := s.start(o); err != nil {
			return err
		}
		s.screen.Note("%s is started again", o.Name)
	}
	if err := s.harm(ctx, now); err != nil {
		return err
	}
	s.trouble(now)
	if now.Before(s.drawAt) {
		return nil
	}
	s.drawAt = now.Add(refresh)
	s.dispatched(ctx)
	s.screen.Draw(func() string { return s.render(now) })
	for _, c := range s.customers {
		if err := c.seen().refused; err != nil {
			return err
		}
	}
	s.over = s.isOver(ctx, now)
	return nil
}

// close releases the readers after the customers have ended.
func (s *supervisor) close() {
	s.wait()
	for i := range s.readers {
		s.shut(i)
	}
}

// wait waits for the customers, whose contexts have ended.
func (s *supervisor) wait() {
	for _, c := range s.customers {
		c.working.Wait()
	}
	s.robbing.Wait()
}
