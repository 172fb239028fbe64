package bench

import (
	"math"
	"slices"
	"time"
)

// Report is the result of a bench. Its JSON form is public.
type Report struct {
	Name    string   `json:"name"`
	Metrics []Metric `json:"metrics"`
}

// Metric is one figure. Ceiling is the same measured without conch in the same run, and Ratio is
// Value/Ceiling. Both are null if there is nothing to compare with.
type Metric struct {
	Name    string   `json:"name"`
	Value   float64  `json:"value"`
	Unit    string   `json:"unit"`
	Ceiling *float64 `json:"ceiling"`
	Ratio   *float64 `json:"ratio"`
}

func (r *Report) add(name string, value float64, unit string) {
	r.Metrics = append(r.Metrics, Metric{Name: name, Value: round(value), Unit: unit})
}

func (r *Report) beside(name string, value, ceiling float64, unit string) {
	m := Metric{Name: name, Value: round(value), Unit: unit}
	if c := round(ceiling); c > 0 {
		ratio := round(value / ceiling)
		m.Ceiling, m.Ratio = &c, &ratio
	}
	r.Metrics = append(r.Metrics, m)
}

// value returns a figure in ms that was added before.
func (r *Report) value(name string) time.Duration {
	for _, m := range r.Metrics {
		if m.Name == name {
			return time.Duration(m.Value * float64(time.Millisecond))
		}
	}
	return 0
}

func (r *Report) spread(name string, ours, raw []time.Duration) {
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		r.beside(name+"_"+q.name, ms(quantile(ours, q.at)), ms(quantile(raw, q.at)), "ms")
	}
}

// quantile returns the smallest sample that at least a share q of all does not exceed.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ds))
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(vs))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// round keeps four digits: more would be noise that looks like precision.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
