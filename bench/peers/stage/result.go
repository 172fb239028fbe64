package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Result is what was seen of one part. Times are milliseconds.
type Result struct {
	Peer           string   `json:"peer"`
	Variant        string   `json:"variant"`
	How            string   `json:"how"`
	Kill           Times    `json:"kill_ms"`
	Handoff        Times    `json:"handoff_ms"`
	Stop           Times    `json:"sigstop_ms"`
	StopZombies    Zombies  `json:"sigstop_zombies"`
	Silence        Times    `json:"blackhole_ms"`
	SilenceZombies Zombies  `json:"blackhole_zombies"`
	Rest           *float64 `json:"asked_per_second_at_rest"`
	Memory         *float64 `json:"leader_rss_mb"`
	ServerMemory   *float64 `json:"etcd_server_rss_mb,omitempty"`
}

// Times of several faults. Never counts those after which nobody acted for as long
// as was waited.
type Times struct {
	P50   *float64 `json:"p50"`
	Max   *float64 `json:"max"`
	Times int      `json:"times"`
	Never int      `json:"never"`
	all   []time.Duration
}

// Zombies are acts of somebody who had a successor that was acting already.
type Zombies struct {
	Writes int `json:"writes"`
	In     int `json:"in_faults"` // in so many
	Faults int `json:"faults"`    // of so many
}

func (t *Times) add(d time.Duration, found bool) {
	t.Times++
	if !found {
		t.Never++
		return
	}
	t.all = append(t.all, d)
	slices.Sort(t.all)
	p50, most := ms(t.all[(len(t.all)-1)/2]), ms(t.all[len(t.all)-1])
	t.P50, t.Max = &p50, &most
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/1e5) / 10 }

func number(v float64) *float64 {
	v = math.Round(v*10) / 10
	return &v
}

// text for people.
func (t *Times) text() string {
	var parts []string
	if t.P50 != nil {
		parts = append(parts, fmt.Sprintf("%s / %s", span(*t.P50), span(*t.Max)))
	}
	if t.Never > 0 {
		parts = append(parts, fmt.Sprintf("never: %d of %d", t.Never, t.Times))
	}
	return strings.Join(parts, "; ")
}

// span of milliseconds as people say it.
func span(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

func (z Zombies) String() string {
	if z.Faults == 0 {
		return "-"
	}
	return fmt.Sprintf("%d in %d of %d", z.Writes, z.In, z.Faults)
}

func plain(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *v)
}

// Markdown writes results as tables for a document.
func Markdown(results []Result) string {
	var b strings.Builder
	b.WriteString("| peer | | `kill -9` | clean handover | SIGSTOP | silent line |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Peer, r.Variant, r.Kill.text(), r.Handoff.text(), r.Stop.text(), r.Silence.text())
	}
	b.WriteString("\n| peer | | zombie writes after SIGSTOP | under a silent line | asked per second at rest | leader's memory, MB |\n|---|---|---|---|---:|---:|\n")
	for _, r := range results {
		memory := plain(r.Memory)
		if r.ServerMemory != nil {
			memory += " + server " + plain(r.ServerMemory)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Peer, r.Variant, r.StopZombies, r.SilenceZombies, plain(r.Rest), memory)
	}
	return b.String()
}
