//go:build unix

package demo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/conchhq/conch/fence"
)

// view shows progress: a table redrawn in place on a terminal, plain lines elsewhere.
type view struct {
	cfg   Config
	out   io.Writer
	start time.Time
	table bool
	lines int // height of the table as last drawn
	notes []string
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearBelow = "\x1b[J"
	shownNotes = 6
	shownNodes = 12
)

func newView(cfg Config) *view { return &view{cfg: cfg, out: cfg.Progress, start: time.Now()} }

func (v *view) say(format string, args ...any) { _, _ = fmt.Fprintf(v.out, format+"\n", args...) }

// note records an event: a line below the table, or a plain line.
func (v *view) note(format string, args ...any) {
	line := fmt.Sprintf("%6.1fs  ", time.Since(v.start).Seconds()) + fmt.Sprintf(format, args...)
	if !v.cfg.Terminal {
		v.say("%s", line)
		return
	}
	v.notes = append(v.notes, line)
	v.notes = v.notes[max(0, len(v.notes)-shownNotes):]
}

func (v *view) open() {
	if v.cfg.Terminal {
		v.table = true
		_, _ = io.WriteString(v.out, hideCursor)
	}
}

// close leaves the last table on the screen and shows the cursor again.
func (v *view) close() {
	if v.table {
		v.table = false
		_, _ = io.WriteString(v.out, showCursor)
	}
}

func (v *view) draw(s *supervisor, now time.Time) {
	if !v.table {
		return
	}
	var b strings.Builder
	if v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", v.lines)
	}
	b.WriteString(clearBelow)
	text := narrow(v.render(s, now), v.cfg.Width())
	v.lines = strings.Count(text, "\n")
	b.WriteString(text)
	_, _ = io.WriteString(v.out, b.String())
}

func (v *view) render(s *supervisor, now time.Time) string {
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
	for i, m := range s.processes.nodes {
		r, a := m.rows+m.pulse.Rows, m.acts+m.pulse.Acts
		rows, acts = rows+r, acts+a
		if i >= shownNodes {
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d%s\n", m.id, m.pidText(), m.state(now), m.epochText(),
			left(m, m.pulse.FencedLeft), left(m, m.pulse.ActLeft), r, a, s.traffic.cell(m))
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%d acts, %d kills, heartbeat %d ms ago, failover %s, act door %s\n",
		rows+acts, len(s.kills), s.row.HeartbeatAgeMS, took(s.failover), took(s.actDoor))
	b.WriteString(s.traffic.line() + "\n")
	for _, line := range v.notes {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// narrow cuts every line to the width; 0 means unknown and cuts nothing.
func narrow(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _ = strings.CutSuffix(line, "\n")
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (m *member) state(now time.Time) string {
	switch {
	case m.process == nil:
		return fmt.Sprintf("dead, back in %.1fs", max(0, m.back.Sub(now)).Seconds())
	case m.inside:
		return "LEADS"
	case m.epoch != 0:
		return "LEADS, act shut"
	default:
		return "follows"
	}
}

func (m *member) pidText() string {
	if m.process == nil {
		return "-"
	}
	return fmt.Sprint(m.process.PID())
}

func (m *member) epochText() string {
	if m.epoch == 0 {
		return "-"
	}
	return fmt.Sprint(m.epoch)
}

// left returns how long a door still stays open, extrapolated from the last report.
func left(m *member, d time.Duration) string {
	if m.process == nil || d == 0 {
		return "shut"
	}
	return fmt.Sprintf("%.1fs", max(0, d-fence.Boottime().Sub(m.pulse.At)).Seconds())
}

func took(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
