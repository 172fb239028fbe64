//go:build unix

package swarm

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/internal/fleet"
)

// supervisor runs the nodes, strikes them, and notes what it hears. It belongs to one goroutine; ears and publishers have
// their own.
type supervisor struct {
	*site
	screen   *screen.Screen
	plan     *Plan
	start    time.Time
	record   Record
	board    board
	load     *goals.Load // of the log; nil: it is not made yet
	world    *goals.Load // of the one in Prolog, which is made with it
	told     chan told
	ears     map[int]*ear    // of living processes, by their lives
	answered map[int]bool    // which processes have
	gone     context.Context // ends when the demo is over, also after Ctrl-C
	busy     sync.WaitGroup

	ticked time.Time // the last tick
	drawAt time.Time
	doing  string // for the view

	tells   bool // news is published
	newsAt  time.Time
	latest  string // the newest piece, by topic
	heardBy map[string]int
	count   int // of pieces that were asked for
	askAt   time.Time
	asked   int // of nodes, which one is asked next for its neighbours
	fault   error
}

func (s *supervisor) since(at time.Time) time.Duration { return at.Sub(s.start) }

// launch starts a node's process and listens to it.
func (s *supervisor) launch(n *node) error {
	if err := s.site.start(n); err != nil {
		return err
	}
	now := s.since(time.Now())
	n.life = len(s.record.Lives)
	s.record.Lives = append(s.record.Lives, Life{Node: n.Name, From: now})
	s.board.begin(n.life, n.Name)
	ctx, deaf := context.WithCancel(s.gone)
	n.deaf = deaf
	e := newEar(n.life, n.socket(), func(t told) {
		select {
		case s.told <- t:
		case <-ctx.Done():
		}
	})
	s.ears[n.life] = e
	s.busy.Go(func() { e.listen(ctx) })
	return nil
}

// ended notes the end of a process.
func (s *supervisor) ended(news fleet.News) {
	n := s.Of(news.From)
	if n == nil || !news.Ended {
		return
	}
	now := s.since(time.Now())
	if !n.Killed {
		s.screen.Note("%s ended by itself: %s", n.Name, n.Process.LastWords())
		s.record.Falls = append(s.record.Falls, Fall{n.life, now, n.Process.LastWords()})
		s.bury(n, now)
		n.Back = time.Now().Add(restartAfter)
	}
	n.Bury()
}

// bury notes that a node's process is no more.
func (s *supervisor) bury(n *node, at time.Duration) {
	s.record.Lives[n.life].To = at
	s.board.end(n.life)
	delete(s.ears, n.life)
	n.deaf()
}

// hear takes what a process has told.
func (s *supervisor) hear(t told) {
	at := s.since(t.at)
	switch {
	case t.view != nil:
		v := View{t.life, at, t.view.leader, t.view.reign}
		s.record.Views = append(s.record.Views, v)
		s.board.see(v)
	case t.heard != nil:
		s.record.Heard = append(s.record.Heard, Heard{t.life, *t.heard, at})
		s.heardBy[*t.heard]++
	case t.piece != nil:
		s.record.Pieces = append(s.record.Pieces, Piece{*t.piece, t.life, at})
		s.latest = *t.piece
	case t.peers != nil:
		s.answered[t.life] = true
		for _, n := range s.All {
			if n.life == t.life {
				n.peers = *t.peers
			}
		}
	case t.gap != nil:
		s.fault = fmt.Errorf("the demo fell behind and does not know what %s has told: %s; take fewer nodes with --nodes", s.record.Lives[t.life].Node, *t.gap)
	}
}

// await runs the loop until something is so, or most has passed, or asked ends. It reports whether it is so.
func (s *supervisor) await(asked context.Context, most time.Duration, is func() bool) bool {
	enough := time.NewTimer(most)
	defer enough.Stop()
	tick := time.NewTicker(step)
	defer tick.Stop()
	s.ticked = time.Now()
	for s.fault == nil {
		if is() {
			return true
		}
		select {
		case news := <-s.News:
			s.ended(news)
		case t := <-s.told:
			s.hear(t)
		case <-tick.C:
			s.tick(time.Now())
		case <-enough.C:
			return is()
		case <-asked.Done():
			return false
		}
	}
	return false
}

// sleep runs the loop for a time.
func (s *supervisor) sleep(asked context.Context, d time.Duration) {
	s.await(asked, d, func() bool { return false })
}

// tick does what time alone does.
func (s *supervisor) tick(now time.Time) {
	s.record.Late = max(s.record.Late, now.Sub(s.ticked)-step)
	s.ticked = now
	for _, n := range s.Due(now) {
		if s.starting() >= atOnce {
			break
		}
		if err := s.launch(n); err != nil {
			s.fault = err
			return
		}
	}
	if s.tells && !now.Before(s.newsAt) {
		s.newsAt = now.Add(s.cfg.paced(newsEvery, runtime.NumCPU()))
		s.publish()
	}
	if s.cfg.Screen.Terminal && !now.Before(s.askAt) {
		s.askAt = now.Add(census / time.Duration(len(s.All)))
		s.asked++
		if e := s.ears[s.All[s.asked%len(s.All)].life]; e != nil && s.load != nil {
			s.busy.Go(func() { _, _ = e.look(s.gone, false) })
		}
	}
	if !now.Before(s.drawAt) {
		s.drawAt = now.Add(refresh)
		s.screen.Draw(func() string { return s.render(now) })
	}
}

// starting returns how many processes have not answered yet. More than a few at once would hold up all others.
func (s *supervisor) starting() (n int) {
	for life := range s.ears {
		if !s.answered[life] {
			n++
		}
	}
	return n
}

// publish has a node tell a piece of news, if it is one of the crowd: one that has just been started knows nobody.
func (s *supervisor) publish() {
	n := s.All[s.plan.random.IntN(len(s.All))]
	e := s.ears[n.life]
	if e == nil || s.board.views[n.life].leader == "" {
		return
	}
	s.count++
	topic := fmt.Sprintf("news-%d", s.count)
	s.busy.Go(func() { _ = e.publish(s.gone, topic) }) // a node that was killed meanwhile takes none
}

// agree reports whether all living nodes name one leader, and none is missing.
func (s *supervisor) agree() bool {
	_, all := s.board.agreed(nil)
	return all && s.board.living() == len(s.All)
}
