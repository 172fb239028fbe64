//go:build unix

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// supervisor is one goroutine's: it hears the nodes, restarts them and kills.
type supervisor struct {
	cfg      Config
	crew     *crew
	view     *view
	observer *pgmint.Observer

	kills   []evidence.Kill
	entries []evidence.Entry
	row     pgmint.Leadership // as last read
	begun   time.Time         // when somebody first acted
	killAt  time.Time         // zero: not now
	drawAt  time.Time
	// For the view.
	failover, actDoor time.Duration
}

// supervise keeps the nodes alive and the kills coming until the time is up or
// ctx ends.
func (s *supervisor) supervise(ctx context.Context, p *place) error {
	for _, m := range s.crew.nodes {
		if err := s.crew.start(m); err != nil {
			return err
		}
	}
	begin := time.NewTimer(warmup)
	defer begin.Stop()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.server.Gone():
			return errors.New("the private Postgres ended unasked")
		case <-begin.C:
			if s.begun.IsZero() {
				return fmt.Errorf("nobody acted within %s%s", warmup, s.complaint())
			}
		case n := <-s.crew.news:
			s.hear(n)
		case now := <-tick.C:
			if !s.begun.IsZero() && now.Sub(s.begun) >= s.cfg.Duration {
				return nil
			}
			if err := s.look(ctx, now); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// hear takes in what a node says, or that it ended.
func (s *supervisor) hear(n fleet.News) {
	m := s.crew.of(n.From)
	switch {
	case m == nil:
		return
	case n.Ended:
		if !s.killed(m) {
			s.view.note("%s ended unasked: %s", m.id, n.From.LastWords())
		}
		m.bury()
		return
	}
	m.hear(n.Report)
	switch n.Report.Kind {
	case worker.Acted:
		s.acted(m, n.Report)
	case election.Entered:
		s.entries = append(s.entries, evidence.Entry{At: n.Report.At, Epoch: n.Report.Epoch})
		if k := s.lastKill(); k.Epoch != 0 && n.Report.Epoch > k.Epoch {
			s.actDoor = n.Report.At.Sub(k.At)
			s.view.note("%s may act outside as well, %s after the kill", m.id, s.actDoor.Round(time.Millisecond))
		}
	default:
	}
}

func (s *supervisor) acted(m *member, r worker.Report) {
	if s.begun.IsZero() {
		s.begun = time.Now()
		if s.cfg.KillEvery > 0 {
			s.killAt = s.begun.Add(s.cfg.KillEvery)
		}
		s.view.note("%s leads (epoch %d)", m.id, r.Epoch)
		return
	}
	if k := s.lastKill(); k.Epoch != 0 && r.Epoch > k.Epoch {
		s.failover = r.At.Sub(k.At)
		s.view.note("%s leads (epoch %d) and has committed, %s after the kill", m.id, r.Epoch, s.failover.Round(100*time.Microsecond))
	}
}

func (s *supervisor) lastKill() evidence.Kill {
	if len(s.kills) == 0 {
		return evidence.Kill{}
	}
	return s.kills[len(s.kills)-1]
}

// killed tells whether the present life of a member ended by us.
func (s *supervisor) killed(m *member) bool {
	k := s.lastKill()
	return k.Node == m.id && k.Epoch == m.epoch
}

// look does what time asks for: revive, kill, draw.
func (s *supervisor) look(ctx context.Context, now time.Time) error {
	for _, m := range s.crew.nodes {
		if m.process == nil && !m.back.IsZero() && !now.Before(m.back) {
			if err := s.crew.start(m); err != nil {
				return err
			}
		}
	}
	killing := !s.killAt.IsZero() && !now.Before(s.killAt)
	if !killing && now.Before(s.drawAt) {
		return nil
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	if killing {
		if err := s.strike(); err != nil {
			return err
		}
	}
	if !now.Before(s.drawAt) {
		s.drawAt = now.Add(refresh)
		s.view.draw(s, now)
	}
	return nil
}

func (s *supervisor) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := s.observer.Leaderships(ctx, Scope)
	if err == nil && len(rows) == 1 {
		s.row = rows[0]
	}
	return err
}

// strike kills whoever leads by the database's row and by its own word. If the
// two disagree, leadership is just changing hands: the next tick looks again.
func (s *supervisor) strike() error {
	for _, m := range s.crew.nodes {
		if m.process == nil || !m.acted || !s.row.Held || s.row.Holder != m.id || s.row.Epoch != m.epoch {
			continue
		}
		at, err := m.kill()
		if err != nil {
			return err
		}
		s.kills = append(s.kills, evidence.Kill{At: at, Node: m.id, Epoch: m.epoch})
		for !s.killAt.After(time.Now()) {
			s.killAt = s.killAt.Add(s.cfg.KillEvery)
		}
		s.view.note("kill -9 %s, pid %d, the leader of epoch %d", m.id, m.process.PID(), m.epoch)
		return nil
	}
	return nil
}

// complaint is what some node said last on its stderr.
func (s *supervisor) complaint() string {
	for _, m := range s.crew.nodes {
		text := m.words
		if m.process != nil {
			text = m.process.LastWords()
		}
		if text != "" {
			return "; " + m.id + " says: " + text
		}
	}
	return ""
}
