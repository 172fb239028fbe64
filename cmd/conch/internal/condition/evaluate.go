package condition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// The limits of one evaluation.
const (
	evaluateFor = time.Minute // the caller may have less patience
	mostSamples = 20_000_000
	mostMembers = 20_000
	lookBack    = 5 * time.Minute // a stale marker ends a series long before
)

// Result is what a condition gives at an instant.
type Result struct {
	// NoData says that nothing was selected where something has to be for the condition to be true: so it is not known to be false. absent(…)
	// needs nothing; a or b needs one of its sides, a unless b its left one, and everything else all of its parts.
	NoData bool
	// Err says why the condition could not be evaluated.
	Err error
	// Members are those for which the condition is true, in the order of their labels.
	Members []Member
}

// Member is one label set of a result, without the metric's name.
type Member struct {
	Labels map[string]string
	Value  float64
}

func newEngine(interval time.Duration) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: mostSamples, Timeout: evaluateFor, LookbackDelta: max(lookBack, 4*interval), Parser: grammar,
		NoStepSubqueryIntervalFn: func(int64) int64 { return interval.Milliseconds() },
	})
}

// Evaluate evaluates a condition at a time of the evaluator's clock, over the rows that were taken.
func (w *Window) Evaluate(ctx context.Context, c *Condition, at time.Time) Result {
	q, err := w.engine.NewInstantQuery(ctx, w, nil, c.Text, at)
	if err != nil {
		return Result{Err: err}
	}
	defer q.Close()
	out := q.Exec(ctx)
	if out.Err != nil {
		return Result{Err: out.Err}
	}
	vector, err := out.Vector()
	switch {
	case err != nil:
		return Result{Err: errors.New("the condition gives no vector")}
	case len(vector) > mostMembers:
		return Result{Err: fmt.Errorf("the condition is true for %d label sets: %d are allowed", len(vector), mostMembers)}
	case len(vector) == 0:
		return Result{NoData: w.lacks(c.expr, at.UnixMilli(), 0)}
	}
	for i := range vector {
		vector[i].Metric = vector[i].Metric.DropReserved(isName)
	}
	slices.SortFunc(vector, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
	r := Result{Members: make([]Member, len(vector))}
	for i, s := range vector {
		if i > 0 && labels.Equal(s.Metric, vector[i-1].Metric) {
			return Result{Err: errors.New("the condition is true for several metrics that have the same labels: sum them, or name one metric")}
		}
		r.Members[i] = Member{s.Metric.Map(), s.F}
	}
	return r
}

// lacks reports whether an expression that gave nothing had nothing to judge.
func (w *Window) lacks(e parser.Expr, at int64, within time.Duration) bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		end := at - e.OriginalOffset.Milliseconds()
		return !w.has(e.LabelMatchers, end-(within+lookBack).Milliseconds(), end, within == 0)
	case *parser.MatrixSelector:
		s := e.VectorSelector.(*parser.VectorSelector) //nolint:forcetypeassert,errcheck // the parser says so
		end := at - s.OriginalOffset.Milliseconds()
		return !w.has(s.LabelMatchers, end-(within+e.Range).Milliseconds(), end, false)
	case *parser.SubqueryExpr:
		return w.lacks(e.Expr, at-e.OriginalOffset.Milliseconds(), within+e.Range)
	case *parser.Call:
		if e.Func.Name == "absent" || e.Func.Name == "absent_over_time" {
			return false
		}
		return slices.ContainsFunc(e.Args, func(one parser.Expr) bool { return w.lacks(one, at, within) })
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return w.lacks(e.LHS, at, within) && w.lacks(e.RHS, at, within)
		case parser.LUNLESS:
			return w.lacks(e.LHS, at, within)
		}
		return w.lacks(e.LHS, at, within) || w.lacks(e.RHS, at, within)
	case *parser.AggregateExpr:
		return w.lacks(e.Expr, at, within)
	case *parser.ParenExpr:
		return w.lacks(e.Expr, at, within)
	case *parser.UnaryExpr:
		return w.lacks(e.Expr, at, within)
	}
	return false // a number or a text
}

// isName reports whether a label is the metric's name, which is none of a member's.
func isName(label string) bool { return label == model.MetricNameLabel }
