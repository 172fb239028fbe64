//go:build unix

package demo

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/conchhq/conch/fence"
)

const shownNodes = 12

// render shows the nodes and what has happened to them.
func (s *supervisor) render(now time.Time) string {
	var b strings.Builder
	run := time.Duration(0)
	if !s.begun.IsZero() {
		run = now.Sub(s.begun)
	}
	fmt.Fprintf(&b, "\n%s of %s   %d processes   lease %s   kill -9 every %s\n\n",
		run.Round(100*time.Millisecond), s.cfg.Duration, s.cfg.Nodes, s.cfg.Lease, s.cfg.KillEvery)
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "NODE\tPID\tSTATE\tEPOCH\tFENCED\tACT\tROWS\tOUTSIDE"+s.traffic.head())
	var rows, acts int64
	for i, m := range s.cast.All {
		r, a := m.rows+m.Pulse.Rows, m.acts+m.Pulse.Acts
		rows, acts = rows+r, acts+a
		if i >= shownNodes {
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d%s\n", m.Name, m.PID(), m.state(now), m.epochText(),
			left(m, m.Pulse.FencedLeft), left(m, m.Pulse.ActLeft), r, a, s.traffic.cell(m))
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%d acts, %d kills, heartbeat %d ms ago, failover %s, act door %s\n",
		rows+acts, len(s.kills), s.row.HeartbeatAgeMS, took(s.failover), took(s.actDoor))
	b.WriteString(s.traffic.line() + "\n")
	return b.String()
}

func (m *member) state(now time.Time) string {
	switch {
	case m.Process == nil:
		return m.Dead(now)
	case m.Inside != 0:
		return "LEADS"
	case m.Epoch != 0:
		return "LEADS, act shut"
	default:
		return "follows"
	}
}

func (m *member) epochText() string {
	if m.Epoch == 0 {
		return "-"
	}
	return fmt.Sprint(m.Epoch)
}

// left returns how long a door still stays open, extrapolated from the last report.
func left(m *member, d time.Duration) string {
	if m.Process == nil || d == 0 {
		return "shut"
	}
	return fmt.Sprintf("%.1fs", max(0, d-fence.Boottime().Sub(m.Pulse.At)).Seconds())
}

func took(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
