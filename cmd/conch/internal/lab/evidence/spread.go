package evidence

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Spread summarises durations in milliseconds. Without samples its values are null in JSON,
// since 0 would read as "at once".
type Spread struct {
	P50, P99, Max float64
	samples       int
}

// Samples returns the number of durations summarised.
func (s Spread) Samples() int { return s.samples }

// SpreadOf summarises durations.
func SpreadOf(ds []time.Duration) Spread { return spreadOf(slices.Clone(ds)) }

func spreadOf(ds []time.Duration) Spread {
	if len(ds) == 0 {
		return Spread{}
	}
	slices.Sort(ds)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(ds)))) - 1
		return float64(ds[max(i, 0)].Microseconds()/100) / 10
	}
	return Spread{P50: at(0.5), P99: at(0.99), Max: at(1), samples: len(ds)}
}

// MarshalJSON writes the public form.
func (s Spread) MarshalJSON() ([]byte, error) {
	var out struct {
		P50 *float64 `json:"p50"`
		P99 *float64 `json:"p99"`
		Max *float64 `json:"max"`
	}
	if s.samples > 0 {
		out.P50, out.P99, out.Max = &s.P50, &s.P99, &s.Max
	}
	return json.Marshal(out)
}

func (s Spread) String() string {
	if s.samples == 0 {
		return "none seen"
	}
	return fmt.Sprintf("p50 %.1f   p99 %.1f   max %.1f", s.P50, s.P99, s.Max)
}
