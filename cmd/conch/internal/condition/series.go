package condition

import (
	"math"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// none marks a row that a series is not in. No series can have it: it is a NaN beside the stale marker.
const none = value.StaleNaN + 1

// strip is the rows of one node: their times, which all its series share, and a ring of values a series.
type strip struct {
	times []int64 // a ring, in milliseconds
	rows  int     // how many rows there were so far
}

func newStrip(depth int) *strip { return &strip{times: make([]int64, depth)} }

// begin begins a row. A time that is not after the last one is moved.
func (s *strip) begin(at int64) {
	if s.rows > 0 {
		at = max(at, s.time(s.rows-1)+1)
	}
	s.times[s.rows%len(s.times)] = at
	s.rows++
}

func (s *strip) time(row int) int64 { return s.times[row%len(s.times)] }

// series is the newest values of one series.
type series struct {
	labels labels.Labels
	of     *strip
	bits   []uint64 // a ring; values are kept as bits, since a processor may change those of a NaN
	first  int      // the first row that it is in, and the last one so far
	last   int
	same   int  // the first row from which on it has had the value that it has now, in each row
	ended  bool // the last one is a stale marker
}

// add gives the series a value in the newest row.
func (s *series) add(bits uint64) {
	now := s.of.rows - 1
	for row := max(s.last+1, now-len(s.bits)); row < now && s.last >= s.first; row++ {
		s.bits[row%len(s.bits)] = none
	}
	if s.last != now-1 || s.last < s.first || s.bits[s.last%len(s.bits)] != bits {
		s.same = now
	}
	s.bits[now%len(s.bits)] = bits
	s.last, s.ended = now, bits == value.StaleNaN
}

func newSeries(of *strip, l labels.Labels, depth int) *series {
	return &series{labels: l, of: of, bits: make([]uint64, min(depth, len(of.times))), first: of.rows - 1, last: of.rows - 2}
}

// end ends a series with a stale marker in the newest row.
func (s *series) end() {
	if !s.ended {
		s.add(value.StaleNaN)
	}
}

// room returns for how many points the series takes room.
func (s *series) room() int { return len(s.bits) + ofSeries }

// over reports whether nothing is left of a series.
func (s *series) over() bool { return s.ended && s.last <= s.of.rows-1-len(s.bits) }

// from returns the oldest row that is kept.
func (s *series) from() int {
	return max(s.first, s.of.rows-len(s.bits))
}

// seek returns the first row at a time or after it.
func (s *series) seek(from int, t int64) int {
	return from + sort.Search(s.last+1-from, func(i int) bool { return s.of.time(from+i) >= t })
}

// newest returns the last row in a span of time that has a value which is no stale marker; below from if there is none.
func (s *series) newest(start, end int64) int {
	from := s.from()
	row := s.seek(from, end+1) - 1
	for ; row >= from; row-- {
		switch s.bits[row%len(s.bits)] {
		case none, value.StaleNaN:
			continue
		}
		if s.of.time(row) < start {
			return from - 1
		}
		return row
	}
	return row
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	old, is := it.(*iterator)
	if !is {
		old = new(iterator)
	}
	*old = iterator{of: s, row: s.from() - 1, last: s.last}
	return old
}

// few is a series of which few points of a span of time are shown, since the others change nothing.
type few struct {
	*series
	start, end int64
	newest     bool // the newest one alone, and else the first and the last one of those that are all equal
}

// Iterator implements storage.Series.
func (s few) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	out := s.series.Iterator(it).(*iterator) //nolint:forcetypeassert,errcheck // the one above
	from := s.from()
	if s.newest {
		row := s.series.newest(s.start, s.end)
		out.row, out.last = row-1, row
		if row < from {
			out.last = out.row
		}
		return out
	}
	if lo := s.seek(from, s.start); lo >= s.same && lo <= s.last && s.of.time(s.last) <= s.end {
		out.row, out.skip, out.to = lo-1, lo, s.last
	}
	return out
}

// iterator reads a series. It is at a row that has a value, before the first one, or behind the last one. It leaves out the rows between two.
type iterator struct {
	of        *series
	row, last int
	skip, to  int
	begun     bool
}

// Next implements chunkenc.Iterator.
func (it *iterator) Next() chunkenc.ValueType {
	it.begun = true
	if it.row++; it.row > it.skip && it.row < it.to {
		it.row = it.to
	}
	for ; it.row <= it.last; it.row++ {
		if it.of.bits[it.row%len(it.of.bits)] != none {
			return chunkenc.ValFloat
		}
	}
	return chunkenc.ValNone
}

// millis are milliseconds, as the engine counts time. Written so, go vet does not take Seek for that of package io.
type millis = int64

// Seek implements chunkenc.Iterator.
func (it *iterator) Seek(t millis) chunkenc.ValueType {
	if it.begun && it.row <= it.last && it.AtT() >= t {
		return chunkenc.ValFloat
	}
	from := max(it.row, it.of.from())
	if from > it.last {
		it.row = it.last + 1
		return chunkenc.ValNone
	}
	it.row = from + sort.Search(it.last+1-from, func(i int) bool { return it.of.of.time(from+i) >= t }) - 1
	return it.Next()
}

// At implements chunkenc.Iterator.
func (it *iterator) At() (int64, float64) {
	return it.AtT(), math.Float64frombits(it.of.bits[it.row%len(it.of.bits)])
}

// AtT implements chunkenc.Iterator.
func (it *iterator) AtT() int64 { return it.of.of.time(it.row) }

// AtST implements chunkenc.Iterator: no series knows when its counter began.
func (*iterator) AtST() int64 { return 0 }

// AtHistogram implements chunkenc.Iterator: there are none.
func (*iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }

// AtFloatHistogram implements chunkenc.Iterator: there are none.
func (*iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

// Err implements chunkenc.Iterator.
func (*iterator) Err() error { return nil }
