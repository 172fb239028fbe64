//go:build unix

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/fleet"
)

// supervisor watches the nodes, restarts them and kills. It belongs to one goroutine.
type supervisor struct {
	cfg      Config
	servers  *servers
	cast     *stage.Cast[*member]
	screen   *screen.Screen
	observer *pgops.Observer

	kills   []evidence.Kill
	entries []evidence.Entry
	row     pgops.ScopeStatus // of Scope, as last read
	begun   time.Time         // first act
	killAt  time.Time         // next kill; zero: none
	spared  bool              // the last kill spared the sender: it is next
	drawAt  time.Time
	traffic *traffic  // nil: no transactions
	ending  time.Time // start of the wait for acknowledged requests to end; zero: not waiting
	// For the view.
	failover, actDoor time.Duration
}

// supervise runs and kills nodes until the duration is over or asked ends. It returns when
// every transaction has ended, or when the wait for that takes too long.
func (s *supervisor) supervise(asked context.Context) error {
	ctx := context.WithoutCancel(asked)
	for _, m := range s.cast.All {
		if err := s.cast.Start(m, s.servers.command(s.cfg, m)); err != nil {
			return err
		}
	}
	begin := time.NewTimer(warmup)
	defer begin.Stop()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-begin.C:
			if s.begun.IsZero() {
				return fmt.Errorf("nobody acted within %s%s", warmup, s.cast.Said())
			}
		case n := <-s.cast.News:
			s.hear(ctx, n)
		case now := <-tick.C:
			if asked.Err() != nil || !s.begun.IsZero() && now.Sub(s.begun) >= s.cfg.Duration {
				s.settle(now)
			}
			if err := s.servers.Fallen(); err != nil {
				return err
			}
			over, err := s.look(ctx, now)
			if over || err != nil {
				return err
			}
		}
	}
}

func (s *supervisor) settle(now time.Time) {
	if !s.ending.IsZero() {
		return
	}
	s.ending, s.killAt, s.drawAt = now, time.Time{}, now
	if s.traffic != nil && s.traffic.open {
		s.traffic.settle()
		s.screen.Note("no more kills; waiting until every transaction is final, and its end told …")
	}
}

func (s *supervisor) hear(ctx context.Context, n fleet.News) {
	m := s.cast.Of(n.From)
	r, is := worker.Read(n.Line)
	switch {
	case m != nil && n.Ended:
		if !m.Killed {
			s.screen.Note("%s ended unexpectedly: %s", m.Name, n.From.LastWords())
		}
		m.recordEnd()
		return
	case m == nil || !is:
		return
	}
	m.Hear(r)
	switch r.Kind {
	case worker.Acted:
		s.acted(ctx, m, r)
	case election.Entered:
		s.entries = append(s.entries, evidence.Entry{At: r.At, Epoch: r.Epoch})
		if k := s.lastKill(); k.Epoch != 0 && r.Epoch > k.Epoch {
			s.actDoor = r.At.Sub(k.At)
			s.screen.Note("%s may act outside for %q as well, %s after the kill", m.Name, Scope, s.actDoor.Round(time.Millisecond))
		}
	default:
	}
}

func (s *supervisor) acted(ctx context.Context, m *member, r worker.Report) {
	if s.begun.IsZero() {
		s.begun = time.Now()
		if s.traffic != nil && s.ending.IsZero() {
			s.traffic.begin(ctx)
		}
		if s.cfg.KillEvery > 0 && s.ending.IsZero() {
			s.killAt = s.begun.Add(s.cfg.KillEvery)
		}
		s.screen.Note("%s leads %q (epoch %d)", m.Name, Scope, r.Epoch)
		return
	}
	if k := s.lastKill(); k.Epoch != 0 && r.Epoch > k.Epoch {
		s.failover = r.At.Sub(k.At)
		s.screen.Note("%s leads %q (epoch %d) and has committed, %s after the kill", m.Name, Scope, r.Epoch, s.failover.Round(100*time.Microsecond))
	}
}

// look does what is due: restart, kill, draw. It reports whether the demo is over.
func (s *supervisor) look(ctx context.Context, now time.Time) (over bool, err error) {
	for _, m := range s.cast.Due(now) {
		if err := s.cast.Start(m, s.servers.command(s.cfg, m)); err != nil {
			return false, err
		}
	}
	killing := !s.killAt.IsZero() && !now.Before(s.killAt)
	if !killing && now.Before(s.drawAt) {
		return false, nil
	}
	// Checked before the database is read, which then has every answered request.
	answered := s.traffic == nil || s.traffic.answered()
	if err := s.read(ctx); err != nil {
		return false, err
	}
	if killing {
		s.strike()
	}
	if !now.Before(s.drawAt) {
		s.drawAt = now.Add(refresh)
		s.screen.Draw(func() string { return s.render(now) })
	}
	return s.over(now, answered), s.refused()
}

// over reports whether the wait for the end is over, with or without success.
func (s *supervisor) over(now time.Time, answered bool) bool {
	switch {
	case s.ending.IsZero():
		return false
	case now.Sub(s.ending) >= settleMost:
		return true
	default:
		return answered && (s.traffic == nil || s.traffic.ended())
	}
}

// refused returns the refusal of a valid request, which ends the demo at once.
func (s *supervisor) refused() error {
	if s.traffic == nil {
		return nil
	}
	return s.traffic.customers.refusal()
}

func (s *supervisor) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := s.observer.Scopes(ctx, "")
	if err != nil {
		return err
	}
	var account pgops.ScopeStatus
	for _, row := range rows {
		switch row.Scope {
		case Scope:
			s.row = row
		case PayerScope:
			account = row
		}
	}
	if s.traffic == nil {
		return nil
	}
	return s.traffic.read(ctx, account, s.screen)
}
