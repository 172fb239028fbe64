package alerts

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
)

// evaluator evaluates the alerts of a file over the rows of all nodes. It is the memory of one leadership, and not for concurrent use.
type evaluator struct {
	interval time.Duration
	window   *condition.Window
	all      []Alert
	read     reading
	loaded   bool
	last     uint64            // the highest sequence that was read
	seen     []uint64          // the newest ones that were read, in their order
	newest   map[string]uint64 // of each node
	// odd is told of a row that cannot be read; it may be nil.
	odd func(error)
}

// reading reads the rows above a sequence, without some that were read already. One that reads from 0 on reads what is kept.
type reading func(ctx context.Context, after uint64, without []uint64) ([]condition.Row, error)

// A row may come after one with a higher sequence, whose transaction was quicker. So what is above some sequences before the last one is read
// again, but for what was seen: as many as all nodes write while one of them is answered.
const (
	leastOverlap = 16
	slowest      = 10 * time.Second // of a node's reports
)

func (e *evaluator) overlap() uint64 {
	return uint64(max(leastOverlap, 2*len(e.newest)*(1+int(slowest/e.interval))))
}

// newEvaluator returns an evaluator that has read no row. For how long rows are to be kept, KeepFor of its window says.
func newEvaluator(s *Section, read reading) *evaluator {
	return &evaluator{interval: s.interval, newest: map[string]uint64{}, window: condition.NewWindow(s.interval, condition.Needs(s.Conditions()...)), all: s.all, read: read}
}

// Evaluate reads what nodes have told, and evaluates all alerts at a time of the leader's clock. The rows that are there at the first call are
// taken as of their own times, so that ranges are warm at once; later ones, of each node the newest, as of now.
func (e *evaluator) Evaluate(ctx context.Context, now time.Time) ([]alerts.Result, error) {
	rows, err := e.read(ctx, e.forget(), e.seen)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		e.seen = append(e.seen, r.Seq)
	}
	if e.loaded {
		e.take(rows, now)
	} else {
		e.load(rows, now)
	}
	e.window.EndRound(now)
	out := make([]alerts.Result, 0, len(e.all))
	for _, a := range e.all {
		if !a.judged {
			out = append(out, resultOf(a.Name, e.window.Evaluate(ctx, a.parsed, now)))
		}
	}
	return out, ctx.Err()
}

// forget forgets what is not read again, and returns after which sequence rows are read.
func (e *evaluator) forget() (after uint64) {
	after = e.last - min(e.last, e.overlap())
	slices.Sort(e.seen)
	at, _ := slices.BinarySearch(e.seen, after+1)
	e.seen = slices.Compact(slices.Delete(e.seen, 0, at))
	maps.DeleteFunc(e.newest, func(_ string, seq uint64) bool { return seq <= after })
	return after
}

func (e *evaluator) load(rows []condition.Row, now time.Time) {
	e.loaded = true
	for i := range rows {
		e.note(rows[i])
		if rows[i].At.After(now) {
			rows[i].At = now
		}
	}
	slices.SortStableFunc(rows, func(a, b condition.Row) int { return a.At.Compare(b.At) })
	e.window.LoadRows(rows)
}

// note notes a row, and reports whether it is the newest of its node.
func (e *evaluator) note(r condition.Row) bool {
	e.last = max(e.last, r.Seq)
	if r.Seq <= e.newest[r.Node] {
		return false
	}
	e.newest[r.Node] = r.Seq
	return true
}

func (e *evaluator) take(rows []condition.Row, now time.Time) {
	fresh := map[string]condition.Row{}
	for _, r := range rows {
		if e.window.LearnNames(r); e.note(r) {
			fresh[r.Node] = r
		}
	}
	for _, r := range fresh {
		if err := e.window.TakeRow(r, now); err != nil && e.odd != nil {
			e.odd(err)
		}
	}
}

func resultOf(rule string, r condition.Result) alerts.Result {
	out := alerts.Result{Rule: rule, NoData: r.NoData}
	if r.Err != nil {
		out.Fault = r.Err.Error()
	}
	for _, m := range r.Members {
		out.Members = append(out.Members, alerts.Member{Labels: m.Labels, Value: m.Value})
	}
	return out
}
