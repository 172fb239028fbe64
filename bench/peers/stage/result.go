package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Result is the result of one part. Times are in milliseconds.
type Result struct {
	Peer           string   `json:"peer"`
	Variant        string   `json:"variant"`
	How            string   `json:"how"`
	Kill           Times    `json:"kill_ms"`
	Handoff        Times    `json:"handoff_ms"`
	HandoffZombies Zombies  `json:"handoff_zombies"`
	Stop           Times    `json:"sigstop_ms"`
	StopZombies    Zombies  `json:"sigstop_zombies"`
	Silence        Times    `json:"blackhole_ms"`
	SilenceZombies Zombies  `json:"blackhole_zombies"`
	Rest           *float64 `json:"asked_per_second_at_rest"`
	Memory         *float64 `json:"leader_rss_mb"`
	ServerMemory   *float64 `json:"etcd_server_rss_mb,omitempty"`
}

// Times holds the times of several faults, the shortest first. Never counts faults after which nobody
// acted within the patience. Few times have no p50: it would be one of them.
type Times struct {
	P50   *float64  `json:"p50"`
	Max   *float64  `json:"max"`
	All   []float64 `json:"all"`
	Times int       `json:"times"`
	Never int       `json:"never"`
}

// few is the largest number of times that are listed one by one.
const few = 3

// Zombies counts acts of a node whose successor was already acting.
type Zombies struct {
	Writes int `json:"writes"`
	In     int `json:"in_faults"` // faults with such acts
	Faults int `json:"faults"`    // all faults
}

func (t *Times) add(d time.Duration, found bool) {
	t.Times++
	if !found {
		t.Never++
		return
	}
	t.All = append(t.All, ms(d))
	slices.Sort(t.All)
	t.Max = &t.All[len(t.All)-1]
	if len(t.All) > few {
		t.P50 = &t.All[(len(t.All)-1)/2]
	}
}

func (z *Zombies) add(writes int) {
	z.Faults++
	if writes > 0 {
		z.Writes += writes
		z.In++
	}
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/1e5) / 10 }

func number(v float64) *float64 {
	v = math.Round(v*10) / 10
	return &v
}

// text returns the times for a table.
func (t *Times) text() string {
	var parts []string
	if t.P50 != nil {
		parts = append(parts, fmt.Sprintf("%s / %s", span(*t.P50), span(*t.Max)))
	} else if len(t.All) > 0 {
		var each []string
		for _, v := range t.All {
			each = append(each, span(v))
		}
		parts = append(parts, strings.Join(each, ", "))
	}
	if t.Never > 0 {
		parts = append(parts, fmt.Sprintf("never: %d of %d", t.Never, t.Times))
	}
	return strings.Join(parts, "; ")
}

// span formats milliseconds.
func span(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

func (z *Zombies) String() string {
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
