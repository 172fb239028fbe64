package alerts

import (
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
)

// evaluator evaluates the alerts of a file over the rows of all nodes. It is the memory of one leadership, and not for concurrent use.
type evaluator struct {
	window *condition.Window
	all    []Alert
	read   reading
	loaded bool
	last   uint64 // the highest sequence that was read
	// odd is told of a row that cannot be read; it may be nil.
	odd func(error)
}

// reading reads the rows above a sequence, in its order. One that is read from 0 on reads what is kept.
type reading func(ctx context.Context, after uint64) ([]condition.Row, error)

// overlap is how many sequences are read once more: a row may come after one with a higher sequence, whose transaction was quicker.
const overlap = 16

// newEvaluator returns an evaluator that has read no row. For how long rows are to be kept, KeepFor of its window says.
func newEvaluator(s *Section, read reading) *evaluator {
	return &evaluator{window: condition.NewWindow(s.interval, condition.Needs(s.Conditions()...)), all: s.all, read: read}
}

// Evaluate reads what nodes have told, and evaluates all alerts at a time of the leader's clock. The rows that are there at the first call are
// taken as of their own times, so that ranges are warm at once; later ones, of each node the newest, as of now.
func (e *evaluator) Evaluate(ctx context.Context, now time.Time) ([]alerts.Result, error) {
	rows, err := e.read(ctx, e.last-min(e.last, overlap))
	if err != nil {
		return nil, err
	}
	if e.loaded {
		e.take(rows, now)
	} else {
		e.load(rows, now)
	}
	e.window.EndRound(now)
	out := make([]alerts.Result, len(e.all))
	for i, a := range e.all {
		out[i] = resultOf(a.Name, e.window.Evaluate(ctx, a.parsed, now))
	}
	return out, ctx.Err()
}

func (e *evaluator) load(rows []condition.Row, now time.Time) {
	e.loaded = true
	for i := range rows {
		e.last = max(e.last, rows[i].Seq)
		if rows[i].At.After(now) {
			rows[i].At = now
		}
	}
	slices.SortStableFunc(rows, func(a, b condition.Row) int { return a.At.Compare(b.At) })
	e.window.LoadRows(rows)
}

func (e *evaluator) take(rows []condition.Row, now time.Time) {
	newest := map[string]condition.Row{}
	for _, r := range rows {
		e.last = max(e.last, r.Seq)
		if known, is := newest[r.Node]; !is || r.Seq > known.Seq {
			newest[r.Node] = r
		}
	}
	for _, r := range newest {
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
