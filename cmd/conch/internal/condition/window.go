package condition

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
)

// The limits of a window.
const (
	// Longest is the longest range that is kept, whatever the rules ask for.
	Longest = 6 * time.Hour
	// Slack is how much longer rows are to be kept than the longest range of a rule.
	Slack = 5 * time.Minute

	mostNodes  = 500
	mostPoints = 32 << 20 // of all series; 256 MiB
	ofSeries   = 64       // points for which the names of a series take room
	spareRows  = 4        // beside those of a range
)

// Up is the metric of a node's presence, and Instance the label with the node's name.
const (
	Up       = "up"
	Instance = "instance"
)

// Row is what a node has written. At is used by [Window.LoadRows] alone.
type Row struct {
	Node string
	Seq  uint64 // moves with each row of the node
	Body []byte
	At   time.Time
}

// Window is the newest points of the series of all nodes that some conditions need. It is not for concurrent use.
type Window struct {
	interval time.Duration
	needs    map[string]time.Duration // by name of the metric: how far back its points are of use
	longest  time.Duration
	engine   *promql.Engine
	nodes    map[string]*node
	points   int // for which all series take room, and how many there may be
	most     int
	byName   map[string][]*series // nil: it is to be made
}

// node is what is known of a node.
type node struct {
	name   string
	reader sample.Reader
	seq    uint64
	rows   *strip
	set    *sample.Set
	cols   []*series          // of the set, in its order; nil: one for which there was no room
	all    map[string]*series // also those that are gone, while their points are of use
	gone   bool

	beats *strip // the times of up
	up    *series
}

// NewWindow returns an empty window of nodes that write a row each interval. The needs are how far back the points of each metric
// are of use; see [Needs].
func NewWindow(interval time.Duration, needs map[string]time.Duration) *Window {
	w := &Window{interval: interval, needs: map[string]time.Duration{}, nodes: map[string]*node{}, most: mostPoints}
	for name, span := range needs {
		w.needs[name] = min(span, Longest)
		w.longest = max(w.longest, w.needs[name])
	}
	w.engine = newEngine(interval)
	return w
}

// KeepFor is for how long rows are of use: what a new evaluator has to load.
func (w *Window) KeepFor() time.Duration { return w.longest + Slack }

// depth returns how many points of a metric are kept.
func (w *Window) depth(metric string) int {
	return int(w.needs[metric]/w.interval) + spareRows
}

// LoadRows takes rows of the past, in the order of their times, into an empty window. Rows with the names of the values before them are used for
// those as well.
func (w *Window) LoadRows(rows []Row) {
	for _, r := range rows {
		w.LearnNames(r)
	}
	for _, r := range rows {
		w.EndRound(r.At)
		_ = w.TakeRow(r, r.At) // what cannot be read says nothing, as in TakeRow
	}
}

// LearnNames reads the names in a row of which nothing else is of use, since a newer one of its node is there: that one may have values alone.
func (w *Window) LearnNames(r Row) {
	if n := w.node(r.Node); n != nil {
		_, _ = n.reader.ReadBody(r.Body) // what cannot be read has no names
	}
}

// TakeRow takes the newest row of a node, as of a time of the evaluator's own clock. A row with the sequence that was taken last is none. An
// error means that the node is there, and that the values of the row are not known.
func (w *Window) TakeRow(r Row, at time.Time) error {
	n := w.node(r.Node)
	if n == nil {
		return fmt.Errorf("the row of node %q is left out: there are %d nodes already", r.Node, mostNodes)
	}
	if n.rows.rows > 0 && n.seq == r.Seq {
		return nil
	}
	n.seq = r.Seq
	n.rows.begin(at.UnixMilli())
	n.beat(at, w.interval, 1)
	n.gone = false
	row, err := n.reader.ReadBody(r.Body)
	if err != nil {
		n.set = nil
		n.endAll()
		return fmt.Errorf("the row of node %q: %w", r.Node, err)
	}
	if n.set != row.Set {
		err = w.join(n, row.Set)
	}
	for i, s := range n.cols {
		if s != nil {
			s.addValue(row.Values[i])
		}
	}
	return err
}

// EndRound ends a round: a node whose row has not moved for two intervals is gone, and what nobody needs any more is forgotten.
func (w *Window) EndRound(at time.Time) {
	for name, n := range w.nodes {
		if n.rows.rows == 0 {
			continue
		}
		idle := at.Sub(time.UnixMilli(n.rows.time(n.rows.rows - 1)))
		if !n.gone && idle < 2*w.interval-w.interval/4 {
			continue
		}
		n.beat(at, w.interval, 0)
		switch {
		case !n.gone:
			n.rows.begin(at.UnixMilli())
			n.endAll()
			n.gone = true
		case idle > w.KeepFor():
			for _, s := range n.all {
				w.points -= s.room()
			}
			w.byName = nil
			delete(w.nodes, name)
		}
	}
}

// node returns what is known of a node; nil if there are too many.
func (w *Window) node(name string) *node {
	n := w.nodes[name]
	if n == nil && len(w.nodes) < mostNodes {
		depth := spareRows + int(w.longest/w.interval)
		n = &node{name: name, rows: newStrip(depth), beats: newStrip(w.depth(Up)), all: map[string]*series{}}
		w.nodes[name] = n
		w.byName = nil
	}
	return n
}

// beat notes whether the node is there, once an interval at most.
func (n *node) beat(at time.Time, interval time.Duration, up float64) {
	b := n.beats
	if up == 0 && !n.gone || b.rows == 0 || up != n.was() || at.Sub(time.UnixMilli(b.time(b.rows-1))) >= interval/2 {
		b.begin(at.UnixMilli())
		if n.up == nil {
			n.up = newSeries(b, labels.FromStrings(model.MetricNameLabel, Up, Instance, n.name), len(b.times))
		}
		n.up.addValue(up)
	}
}

// was returns what was noted last.
func (n *node) was() float64 {
	_, v := (&iterator{of: n.up, row: n.up.last}).At()
	return v
}

// endAll ends all series of a node in its newest row.
func (n *node) endAll() {
	for _, s := range n.all {
		s.end()
	}
}

// errFull says that there is no room for more series.
var errFull = errors.New("there are too many series: some are left out, so that what is said of them is not told")

// join has the node's series be those of another set, from its newest row on.
func (w *Window) join(n *node, set *sample.Set) (err error) {
	w.byName = nil
	for key, s := range n.all {
		if s.over() {
			delete(n.all, key)
			w.points -= s.room()
		}
	}
	n.set, n.cols = set, make([]*series, len(set.Series))
	stays := make(map[*series]bool, len(set.Series))
	var build labels.ScratchBuilder
	for i, one := range set.Series {
		l, is := labelsOf(&build, one, n.name)
		if !is {
			continue
		}
		key := string(l.Bytes(nil))
		s := n.all[key]
		switch {
		case s != nil:
		case w.points >= w.most:
			err = errFull
			continue
		default:
			s = newSeries(n.rows, l, w.depth(one.Name))
			n.all[key] = s
			w.points += s.room()
		}
		n.cols[i], stays[s] = s, true
	}
	for _, s := range n.all {
		if !stays[s] {
			s.end()
		}
	}
	return err
}

// labelsOf returns the labels of a node's series. A label that has the name of ours is set aside, as a scrape does.
func labelsOf(b *labels.ScratchBuilder, s sample.Series, node string) (labels.Labels, bool) {
	b.Reset()
	b.Add(model.MetricNameLabel, s.Name)
	for _, l := range s.Labels {
		if l.Name == Instance {
			l.Name = "exported_" + Instance
		}
		if l.Value != "" { // else it is no label
			b.Add(l.Name, l.Value)
		}
	}
	b.Add(Instance, node)
	b.Sort()
	out := b.Labels()
	_, twice := out.HasDuplicateLabelNames()
	return out, !twice && s.Name != Up
}
