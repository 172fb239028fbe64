//go:build unix

package consortium

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// quiet is how old an answer is at most that is shown as the present.
const quiet = 2 * time.Second

func (s *supervisor) render(now time.Time) string {
	var b strings.Builder
	run := time.Duration(0)
	if !s.begun.IsZero() {
		run = now.Sub(s.begun)
	}
	fmt.Fprintf(&b, "\n%s   %d organisations, %d endorse   a fault every %s\n\n",
		s.extent(run.Round(100*time.Millisecond)), len(s.All), needed, s.every())
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "NODE\tPID\tSTATE\tCOORDINATOR\tFINAL\tASKED\tOPEN\tCONFIRMED\tREVERTED")
	var all seen
	for i, o := range s.All {
		at := s.customers[i].seen()
		all.asked, all.open, all.confirmed, all.reverted = all.asked+at.asked, all.open+at.open, all.confirmed+at.confirmed, all.reverted+at.reverted
		names := at.Coordinator
		if now.Sub(at.heard) > quiet {
			names = "?"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", o.Name, o.PID(), s.state(o, now), names, at.Final, at.asked, at.open, at.confirmed, at.reverted)
	}
	_ = w.Flush()
	last := "-"
	if n := len(s.dispatches); n > 0 {
		last = s.dispatches[n-1].Round(time.Millisecond).String()
	}
	fmt.Fprintf(&b, "\n%d asked, %d confirmed, %d reverted, %d open   %d kills, %d pauses, %d partitions   next dispatch after a kill %s\n\n",
		all.asked, all.confirmed, all.reverted, all.open, s.kills, s.pauses, s.partitions, last)
	if s.cfg.Chaos != nil {
		fmt.Fprintf(&b, "fault %d of %d   %s\n\n", s.faults, len(s.plan), s.extra())
	}
	return b.String()
}

// state says what was done to a node.
func (s *supervisor) state(o *organisation, now time.Time) string {
	switch {
	case o.Process == nil:
		return o.Dead(now)
	case o.Killed:
		return "killed"
	case o.Stopped:
		return "stopped"
	case !s.healAt.IsZero():
		return "partitioned"
	default:
		return "runs"
	}
}

func (s *supervisor) extent(run time.Duration) string {
	if s.cfg.Duration == 0 {
		return run.String()
	}
	return fmt.Sprintf("%s of %s", run, s.cfg.Duration)
}

func (s *supervisor) every() string {
	if s.cfg.Chaos != nil {
		return fmt.Sprintf("%s to %s", shortestBreak, longestBreak)
	}
	return s.cfg.KillEvery.String()
}
