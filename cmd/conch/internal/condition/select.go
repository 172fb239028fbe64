package condition

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// addValue gives the series a number in the newest row. A node's own stale marker, or ours for no value, is a NaN like any other.
func (s *series) addValue(v float64) {
	bits := math.Float64bits(v)
	if math.IsNaN(v) {
		bits = math.Float64bits(math.NaN())
	}
	s.add(bits)
}

// Querier implements storage.Queryable.
func (w *Window) Querier(int64, int64) (storage.Querier, error) { return querier{w}, nil }

// named returns the series of a metric.
func (w *Window) named(metric string) []*series {
	w.index()
	return w.byName[metric]
}

// index sorts the series by their metric.
func (w *Window) index() {
	if w.byName != nil {
		return
	}
	w.byName = map[string][]*series{}
	for _, n := range w.nodes {
		for _, s := range n.all {
			name := s.labels.Get(model.MetricNameLabel)
			w.byName[name] = append(w.byName[name], s)
		}
		if n.up != nil {
			w.byName[Up] = append(w.byName[Up], n.up)
		}
	}
}

// among returns the series that could match, and what is left to be compared.
func (w *Window) among(matchers []*labels.Matcher) (all []*series, rest []*labels.Matcher) {
	for i, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return w.named(m.Value), slices.Concat(matchers[:i], matchers[i+1:])
		}
	}
	w.index()
	for _, list := range w.byName {
		all = append(all, list...)
	}
	return all, matchers
}

func matches(s *series, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(s.labels.Get(m.Name)) {
			return false
		}
	}
	return true
}

// has reports whether a selector finds a point in a span of time, its begin left out; at an instant, that of its end, what has ended by then is
// not found.
func (w *Window) has(matchers []*labels.Matcher, after, until int64, instant bool) bool {
	all, rest := w.among(matchers)
	return slices.ContainsFunc(all, func(s *series) bool {
		from := s.from()
		row := s.newest(after+1, until)
		if !matches(s, rest) || row < from {
			return false
		}
		return !instant || s.seek(from, until+1)-1 == row
	})
}

type querier struct{ w *Window }

// newestOnly are the functions for which the newest point of a range is all that matters, and endsOnly those for which the first and the last
// one are, if all between them have the same value: most counters of errors have not moved for hours.
var (
	newestOnly = []string{"last_over_time", "present_over_time", "absent_over_time"}
	endsOnly   = []string{"increase", "rate", "delta", "irate", "idelta", "changes", "resets", "min_over_time", "max_over_time"}
)

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	all, rest := q.w.among(matchers)
	out := &found{at: -1, all: make([]storage.Series, 0, len(all))}
	once := hints != nil && hints.Range > 0 && hints.End-hints.Start <= hints.Range // and not for each step of a subquery
	newest, ends := once && slices.Contains(newestOnly, hints.Func), once && slices.Contains(endsOnly, hints.Func)
	for _, s := range all {
		switch {
		case !matches(s, rest) || hints != nil && s.last >= 0 && s.of.time(s.last) < hints.Start:
		case newest || ends && !s.ended:
			out.all = append(out.all, few{s, hints.Start, hints.End, newest})
		default:
			out.all = append(out.all, s)
		}
	}
	if sorted {
		slices.SortFunc(out.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	}
	return out
}

// LabelValues implements storage.Querier: nobody asks.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier: nobody asks.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// found is the series that a selector has found.
type found struct {
	all []storage.Series
	at  int
}

// Next implements storage.SeriesSet.
func (f *found) Next() bool { f.at++; return f.at < len(f.all) }

// At implements storage.SeriesSet.
func (f *found) At() storage.Series { return f.all[f.at] }

// Err implements storage.SeriesSet.
func (*found) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*found) Warnings() annotations.Annotations { return nil }
