package condition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/conchhq/conch/internal/nearest"
)

// Check finds what keeps a condition from ever firing, or from saying what its writer means, in the order of its text. A fault keeps a node
// from starting; a warning does not.
func (c *Condition) Check() []FaultError {
	k := &checker{c: c}
	if c.Renamed != "" {
		k.warn(c.expr, "%s: it is evaluated as %s", c.Renamed, c.Text)
	}
	k.judgeType()
	for _, p := range c.picks {
		k.judgePick(p)
	}
	parser.Inspect(c.expr, func(n parser.Node, path []parser.Node) error {
		k.judgeNode(n, path)
		return nil
	})
	slices.SortStableFunc(k.found, func(a, b FaultError) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return slices.Compact(k.found)
}

type checker struct {
	c     *Condition
	found []FaultError
}

func (k *checker) fault(at parser.Node, format string, args ...any) {
	k.found = append(k.found, faultAt(k.c.written, at.PositionRange(), format, args...))
}

func (k *checker) warn(at parser.Node, format string, args ...any) {
	f := faultAt(k.c.written, at.PositionRange(), format, args...)
	f.Warning = true
	k.found = append(k.found, f)
}

// judgeType refuses what gives no vector, and warns of what gives one whatever the values are.
func (k *checker) judgeType() {
	switch kind := k.c.expr.Type(); kind {
	case parser.ValueTypeVector:
	case parser.ValueTypeMatrix:
		k.fault(k.c.expr, "a range of points is no condition: did you mean increase(%s) > 0?", k.c.expr)
		return
	default:
		k.fault(k.c.expr, "a %s is no condition: compare a metric with a number", kind)
		return
	}
	decides := false
	parser.Inspect(k.c.expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.BinaryExpr:
			decides = decides || n.Op.IsComparisonOperator() && !n.ReturnBool || n.Op == parser.LUNLESS || n.Op == parser.LAND
		case *parser.Call:
			decides = decides || strings.HasPrefix(n.Func.Name, "absent")
		}
		return nil
	})
	if !decides {
		k.warn(k.c.expr, "it compares nothing, so it is true as long as there is such a series: did you mean %s > 0?", k.c.expr)
	}
}

// judgePick looks at a selector.
func (k *checker) judgePick(p pick) {
	s := p.selector
	switch {
	case s.Timestamp != nil || s.StartOrEnd != 0:
		k.fault(s, "@ asks for a time of its own, and a condition is evaluated now: take it out")
	case s.OriginalOffset < 0:
		k.fault(s, "the offset lies in the future")
	case p.span > Longest:
		var at parser.Node = s
		if p.of != nil {
			at = p.of
		}
		k.fault(at, "it looks %s back, and samples are kept for %s: take a shorter range, or let Prometheus evaluate it", spelled(p.span), spelled(Longest))
	}
	name, all := p.metric(), p.metrics()
	own, isKnown := find(name)
	switch {
	case name == "" && len(all) == 0:
		k.fault(s, "it selects no metric of conch")
		return
	case name == "" && len(all) == len(Metrics()):
		k.fault(s, "it names no metric")
		return
	case name != "" && ofProgram(name):
		return
	case name != "" && !isKnown:
		k.fault(s, "conch has no metric %s%s", name, meant(name, names(Metrics())))
		return
	}
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			continue
		}
		known := append(slices.Clone(own.Labels), Instance)
		if name == "" {
			known = labelsOfAll(all)
		}
		k.judgeLabel(s, m.Name, cmp.Or(name, "such a metric"), known)
	}
}

// judgeLabel wants a label to be one of those that are known.
func (k *checker) judgeLabel(at parser.Node, label, of string, known []string) {
	switch {
	case slices.Contains(known, label):
	case label == seedLabel && slices.Contains(known, ourLabel):
		k.fault(at, "%s has no label %s: here it is called %s", of, seedLabel, ourLabel)
	case slices.Contains(scraped, label):
		k.fault(at, "%s has no label %s: only a scrape adds it%s", of, label, meant(label, known))
	default:
		k.fault(at, "%s has no label %s%s", of, label, meant(label, known))
	}
}

func meant(word string, known []string) string {
	if one := nearest.To(word, known); one != "" {
		return fmt.Sprintf(": is %s meant?", one)
	}
	if len(known) < 10 {
		return ": it has " + strings.Join(known, ", ")
	}
	return ""
}

func names(all []Metric) (out []string) {
	for _, m := range all {
		out = append(out, m.Name)
	}
	return out
}

// labelsOfAll returns the labels of some metrics, with the one that all have.
func labelsOfAll(metrics []string) []string {
	out := []string{Instance}
	for _, name := range metrics {
		one, _ := find(name)
		out = append(out, one.Labels...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Labels lists the labels that the members of a condition may have, for what names them beside it.
func (c *Condition) Labels() []string {
	out := []string{Instance}
	for _, p := range c.picks {
		out = append(out, labelsOfAll(p.metrics())...)
	}
	parser.Inspect(c.expr, func(n parser.Node, _ []parser.Node) error {
		if call, is := n.(*parser.Call); is && (call.Func.Name == "label_replace" || call.Func.Name == "label_join") && len(call.Args) > 1 {
			if text, is := call.Args[1].(*parser.StringLiteral); is {
				out = append(out, text.Val)
			}
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// judgeNode looks at every other part of a condition.
func (k *checker) judgeNode(n parser.Node, path []parser.Node) {
	for _, list := range groupings(n) {
		known := k.c.Labels()
		for _, label := range list {
			if !slices.Contains(scraped, label) {
				k.judgeLabel(n, label, "what is grouped here", known)
			}
		}
	}
	switch n := n.(type) {
	case *parser.SubqueryExpr:
		if n.Timestamp != nil || n.StartOrEnd != 0 || n.OriginalOffset < 0 {
			k.fault(n, "a condition is evaluated now, over what was: take the @ or the offset out")
		}
	case *parser.BinaryExpr:
		k.judgeRate(n)
		k.judgeSum(n, path)
	}
}

// judgeRate warns of a rate that is compared with a number of events.
func (k *checker) judgeRate(b *parser.BinaryExpr) {
	side, number := b.LHS, b.RHS
	if b.Op == parser.LSS || b.Op == parser.LTE {
		side, number = number, side
	} else if b.Op != parser.GTR && b.Op != parser.GTE {
		return
	}
	limit, is := plain(number).(*parser.NumberLiteral)
	if !is || limit.Val < 1 {
		return
	}
	inner := plain(side)
	if a, is := inner.(*parser.AggregateExpr); is {
		inner = plain(a.Expr)
	}
	call, is := inner.(*parser.Call)
	if !is || call.Func.Name != "rate" && call.Func.Name != "irate" || len(call.Args) == 0 {
		return
	}
	m, is := call.Args[0].(*parser.MatrixSelector)
	if !is || slices.ContainsFunc([]string{"bytes", "messages"}, func(word string) bool { return strings.Contains(m.VectorSelector.String(), word) }) {
		return
	}
	k.warn(call, "%s is per second: more than %s means more than %s times in %s. Did you mean increase(%s)?", call.Func.Name, number,
		grouped(limit.Val*m.Range.Seconds()), spelled(m.Range), m)
}

// judgeSum warns of a sum that is to be 0 and is nothing at all when nobody is there.
func (k *checker) judgeSum(b *parser.BinaryExpr, path []parser.Node) {
	limit, is := plain(b.RHS).(*parser.NumberLiteral)
	a, isSum := plain(b.LHS).(*parser.AggregateExpr)
	zero := is && (b.Op == parser.EQLC && limit.Val == 0 || b.Op == parser.LSS && limit.Val <= 1 || b.Op == parser.LTE && limit.Val == 0)
	if !zero || !isSum || len(a.Grouping) > 0 || a.Without {
		return
	}
	for _, above := range path {
		if or, is := above.(*parser.BinaryExpr); is && or.Op == parser.LOR && strings.Contains(or.String(), "absent(") {
			return
		}
	}
	k.warn(b, "it says nothing when nobody is there, since then there is nothing to sum: add or absent(%s)", strings.TrimSpace(a.Expr.String()))
}

// plain takes the brackets off.
func plain(e parser.Expr) parser.Expr {
	for {
		switch inner := e.(type) {
		case *parser.ParenExpr:
			e = inner.Expr
		case *parser.StepInvariantExpr:
			e = inner.Expr
		default:
			return e
		}
	}
}

// spelled writes a time as PromQL does.
func spelled(d time.Duration) string { return model.Duration(d).String() }

// grouped writes a number with its thousands set off.
func grouped(v float64) string {
	text := fmt.Sprint(int64(math.Round(v)))
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
