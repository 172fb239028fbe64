package condition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// Condition is what an alert asks for, parsed.
type Condition struct {
	// Text is what is evaluated: as it was written, or with conch's names in place of the seed's.
	Text string
	// Renamed says which names of the seed stand for which of conch's: it wrote forge_leader_is_leader{role="x"}; "": none.
	Renamed string

	written string
	expr    parser.Expr
	picks   []pick
}

// pick is one selector of a condition.
type pick struct {
	selector *parser.VectorSelector
	span     time.Duration // how far back it looks
	of       *parser.MatrixSelector
}

// FaultError is what is wrong with a condition, and where.
type FaultError struct {
	Line, Column int // from 1, in the condition's text
	Text         string
	Warning      bool // it can be evaluated, and may not say what its writer means
}

// Error says where and what.
func (f *FaultError) Error() string {
	if f.Line > 1 {
		return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Text)
	}
	return fmt.Sprintf("column %d: %s", max(f.Column, 1), f.Text)
}

var grammar = parser.NewParser(parser.Options{})

// Parse reads a condition. Its error is a *[FaultError].
func Parse(text string) (*Condition, error) {
	if len(text) > mostText {
		return nil, &FaultError{1, 1, fmt.Sprintf("the condition has %d bytes: %d are allowed", len(text), mostText), false}
	}
	expr, err := grammar.ParseExpr(text)
	if err != nil {
		return nil, parseFault(text, err)
	}
	c := &Condition{Text: text, written: text, expr: expr}
	if c.Renamed = rename(expr); c.Renamed != "" {
		c.Text = expr.String()
	}
	c.collect()
	return c, nil
}

// mostText is how long a condition may be.
const mostText = 16 << 10

func parseFault(text string, err error) error {
	all, is := errors.AsType[parser.ParseErrors](err)
	if !is || len(all) == 0 {
		return &FaultError{1, 1, err.Error(), false}
	}
	f := faultAt(text, all[0].PositionRange, "%v", all[0].Err)
	return &f
}

// faultAt makes a fault at a place of the text.
func faultAt(text string, at posrange.PositionRange, format string, args ...any) FaultError {
	before := text[:min(max(int(at.Start), 0), len(text))]
	return FaultError{Line: 1 + strings.Count(before, "\n"), Column: len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1, Text: fmt.Sprintf(format, args...)}
}

// collect lists the selectors, with how far back each looks.
func (c *Condition) collect() {
	parser.Inspect(c.expr, func(n parser.Node, path []parser.Node) error {
		s, is := n.(*parser.VectorSelector)
		if !is {
			return nil
		}
		p := pick{selector: s, span: max(s.OriginalOffset, 0)}
		for _, above := range path {
			switch above := above.(type) {
			case *parser.MatrixSelector:
				p.span, p.of = p.span+above.Range, above
			case *parser.SubqueryExpr:
				p.span += above.Range + max(above.OriginalOffset, 0)
			}
		}
		c.picks = append(c.picks, p)
		return nil
	})
}

// metric returns the metric that a selector names; "" if it names none, or several.
func (p pick) metric() string {
	for _, m := range p.selector.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// metrics returns the metrics that a selector may find.
func (p pick) metrics() []string {
	if one := p.metric(); one != "" {
		return []string{one}
	}
	var all []string
	for _, known := range Metrics() {
		if !slices.ContainsFunc(p.selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel && !m.Matches(known.Name) }) {
			all = append(all, known.Name)
		}
	}
	return all
}

// Needs returns how far back the points of each metric are of use to some conditions. Their names are those that a node tells, but for up.
func Needs(all ...*Condition) map[string]time.Duration {
	needs := map[string]time.Duration{}
	for _, c := range all {
		for _, p := range c.picks {
			for _, name := range p.metrics() {
				needs[name] = max(needs[name], p.span)
			}
		}
	}
	return needs
}

// Names returns the names of the series that a node has to tell for some conditions, sorted.
func Names(all ...*Condition) (names []string) {
	for name := range Needs(all...) {
		if name != Up {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// seedPrefix begins the metrics of the seed's alerts (F7, F9), whose label role is scope here.
const seedPrefix, seedLabel, ourLabel = "forge_leader_", "role", "scope"

// seedNames are the seed's metrics and ours.
var seedNames = map[string]string{
	"forge_leader_is_leader": "conch_is_leader", "forge_leader_elections_total": "conch_leader_elections_total",
	"forge_leader_tenure_seconds": "conch_leader_tenure_seconds", "forge_leader_failovers_total": "conch_leader_failovers_total",
}

// rename gives the seed's metrics our names, and says which. Their label is renamed with them; elsewhere it is a fault, as any unknown one.
func rename(expr parser.Expr) string {
	var said []string
	tell := func(from, to string) {
		if text := from + " is " + to + " here"; !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	label := func(name *string) {
		if *name == seedLabel {
			tell("its label "+seedLabel, ourLabel)
			*name = ourLabel
		}
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, is := n.(*parser.VectorSelector)
		if !is || seedNames[cmp.Or(s.Name, pick{selector: s}.metric())] == "" {
			return nil
		}
		for _, m := range s.LabelMatchers {
			if m.Name == model.MetricNameLabel {
				tell(m.Value, seedNames[m.Value])
				s.Name, m.Value = seedNames[m.Value], seedNames[m.Value]
			}
		}
		for _, m := range s.LabelMatchers {
			label(&m.Name)
		}
		return nil
	})
	if len(said) == 0 {
		return ""
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		for _, list := range groupings(n) {
			for i := range list {
				label(&list[i])
			}
		}
		return nil
	})
	return strings.Join(said, ", and ")
}

// groupings returns the labels by which a part of an expression groups or joins, which are its own.
func groupings(n parser.Node) [][]string {
	switch n := n.(type) {
	case *parser.AggregateExpr:
		return [][]string{n.Grouping}
	case *parser.BinaryExpr:
		if m := n.VectorMatching; m != nil {
			return [][]string{m.MatchingLabels, m.Include}
		}
	}
	return nil
}
