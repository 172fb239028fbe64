//go:build unix

package swarm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
)

// supervise starts the nodes, strikes until the duration is over or asked ends, and makes everybody whole. Each strike
// comes at least once, unless asked ends.
func (s *supervisor) supervise(asked context.Context) error {
	if err := s.cold(asked); err != nil || asked.Err() != nil {
		return err
	}
	if err := s.found(asked); err != nil && asked.Err() == nil {
		return err
	}
	if s.load == nil {
		return s.fault
	}
	s.tells = true
	end := time.Now().Add(s.cfg.Duration)
	for once := false; asked.Err() == nil && s.fault == nil && (!once || time.Now().Before(end)); {
		s.sleep(asked, breath)
		next, last := s.plan.Next(s.links != nil)
		once = once || last
		if whole := s.strike(asked, next); !whole {
			return s.fault
		}
	}
	s.settle(asked)
	return s.fault
}

// cold starts all nodes: first the crowd, which can name nobody yet, then the electors.
func (s *supervisor) cold(asked context.Context) error {
	s.screen.Note("%d nodes start, the %d electors last", len(s.All), electors)
	s.doing = "starting"
	for i := range s.All {
		n := s.All[(i+electors)%len(s.All)]
		if err := s.launch(n); err != nil {
			return err
		}
		s.record.Began = s.since(time.Now())
		ready := s.await(asked, warmup, func() bool { return len(s.record.Falls) > 0 || s.starting() < atOnce })
		switch {
		case s.fault != nil || asked.Err() != nil:
			return s.fault
		case len(s.record.Falls) > 0:
			return fmt.Errorf("%s ended at once: %s", s.record.Lives[s.record.Falls[0].Life].Node, s.record.Falls[0].Words)
		case !ready:
			return fmt.Errorf("%d nodes do not answer within %s: the machine is too slow for so many, take fewer with --nodes", s.starting(), warmup)
		}
	}
	if !s.await(asked, warmup, s.agree) {
		if s.fault != nil || asked.Err() != nil {
			return s.fault
		}
		return fmt.Errorf("after %s not all name one leader: %s; if the machine is too slow, take fewer with --nodes", warmup, spoken(s.board.counts()))
	}
	by, _ := s.board.agreed(nil)
	took := s.since(time.Now()) - s.record.Began
	s.screen.Note("all name %s, %s after the last start: %.1f rounds", by.leader, short(took), float64(took)/float64(s.record.Timing.Round))
	return nil
}

// strike does something, and waits until all are whole again; whole is false if that did not come, which ends the demo.
func (s *supervisor) strike(asked context.Context, what Strike) (whole bool) {
	if !s.whole(asked) {
		return asked.Err() != nil
	}
	by, _ := s.board.agreed(nil)
	switch what {
	case KillLeader:
		s.killLeader(asked, by.leader)
	case KillWriter:
		s.killWriter(asked, by.leader)
	case Wipe:
		s.wipe(by.leader)
	case Crash:
		s.crash(asked, by.leader)
	case Part:
		s.part(asked, by.leader)
	}
	s.doing = "waiting until all agree"
	healed := time.Now()
	whole = s.whole(s.gone)
	s.doing = ""
	switch {
	case whole && what == Part:
		s.screen.Note("all agree %s after the network was healed", short(time.Since(healed)))
	case whole && what == Crash:
		by, _ := s.board.agreed(nil)
		s.screen.Note("all %d are back, and name %s", s.board.living(), by.leader)
	}
	return whole
}

// whole waits until all agree, and says so if they do not.
func (s *supervisor) whole(asked context.Context) bool {
	if s.await(asked, patience, s.agree) {
		return true
	}
	if asked.Err() == nil && s.fault == nil {
		s.screen.Note("after %s not all name one leader: %s", patience, spoken(s.board.counts()))
	}
	return false
}

func (s *supervisor) killLeader(asked context.Context, leader string) {
	n, writes := s.Named(leader), s.writer() == leader
	at := time.Now()
	s.kill(n)
	s.record.Kills = append(s.record.Kills, Kill{n.life, s.since(at)})
	s.doing = "the leader is dead"
	what := "which led"
	if writes {
		what = "which led, and led the log"
	}
	s.screen.Note("kill -9 %s, pid %d, %s", n.Name, n.Process.PID(), what)
	replaced := func() bool {
		by, all := s.board.agreed(nil)
		return all && by.leader != leader
	}
	if s.await(asked, patience, replaced) {
		by, _ := s.board.agreed(nil)
		s.screen.Note("all %d others name %s, %s after the kill", s.board.living(), by.leader, short(time.Since(at)))
	}
	if writes {
		s.goesOn(asked, at, "the kill")
	}
	n.Back = time.Now().Add(restartAfter)
}

func (s *supervisor) crash(asked context.Context, leader string) {
	victims := s.plan.Tenth(leader)
	for _, name := range victims {
		s.kill(s.Named(name))
	}
	s.record.Crashed += len(victims)
	s.doing = "a tenth is dead"
	s.screen.Note("kill -9 %s: a tenth of the nodes at once", listed(victims))
	s.sleep(asked, 2*breath)
	for _, name := range victims {
		s.Named(name).Back = time.Now()
	}
}

// part cuts the network until the smaller side names nobody, and a little longer.
func (s *supervisor) part(asked context.Context, leader string) {
	side := s.plan.Side(leader)
	at := time.Now()
	s.links.Cut(side)
	s.record.Cuts = append(s.record.Cuts, Cut{Side: side, From: s.since(at)})
	s.doing = "the network is cut"
	s.screen.Note("cut: %d nodes with %d of %d electors | %d nodes with the leader %s; %s leads the log", len(side), (electors-1)/2, electors, len(s.All)-len(side), leader, somebody(s.writer()))
	s.goesOn(asked, at, "the cut")
	silent := func() bool {
		for life, node := range s.board.nodes {
			if side[node] && s.board.views[life].leader != "" {
				return false
			}
		}
		return true
	}
	if s.await(asked, patience, silent) {
		s.screen.Note("the smaller side names nobody, %s after the cut", short(time.Since(at)))
		s.sleep(asked, 2*breath)
	}
	s.heal()
}

// heal ends a cut, if there is one.
func (s *supervisor) heal() {
	for i := range s.record.Cuts {
		if c := &s.record.Cuts[i]; c.To == 0 {
			s.links.Heal()
			c.To = s.since(time.Now())
			s.screen.Note("the network is whole again")
		}
	}
}

// settle waits until the last piece of news has to be with all. Meanwhile a node joins, and the copies of the log are compared.
func (s *supervisor) settle(asked context.Context) {
	s.tells, s.doing = false, "waiting for the last news"
	until := time.Now().Add(settle + breath)
	s.screen.Note("no more strikes")
	if asked.Err() == nil && s.fault == nil {
		s.join()
	}
	if s.fault == nil {
		s.compare()
	}
	if rest := time.Until(until); rest > 0 && s.fault == nil {
		s.doing = "waiting for the last news"
		s.screen.Note("waiting for the last news …")
		s.sleep(s.gone, rest)
	}
	if s.fault == nil {
		s.whole(s.gone)
	}
}

// kill ends a node's process by -9. It is not started again by itself.
func (s *supervisor) kill(n *node) {
	if n.Process == nil || n.Killed {
		return
	}
	at := s.since(time.Now())
	if s.load != nil && n.Name == s.writer() {
		s.load.Note(func(r *goals.Record) { r.Kills = append(r.Kills, at) })
	}
	n.Kill()
	s.bury(n, at)
}

// listed names some, and counts the others.
func listed(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], " "), len(names)-most)
}
