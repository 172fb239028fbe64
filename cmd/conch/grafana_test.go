//go:build unix

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what a test wants of Grafana's.
type dashboard struct {
	UID    string
	Panels []struct {
		Type, Title string
		ID          int
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

// of Prometheus' own: the target, and the limits of histograms.
var scraped = []string{"instance", "job", "le"}

// F8: every expression of the dashboard can be parsed, and asks for metrics and labels that a node exports. Grafana itself is not here.
func TestGrafana(t *testing.T) {
	t.Parallel()
	var d dashboard
	if err := json.Unmarshal([]byte(deployed(t, "grafana.json")), &d); err != nil {
		t.Fatal(err)
	}
	labels := labelsOfAll(pageOfEverything(t))
	exprs := 0
	seen := map[int]bool{}
	for _, p := range d.Panels {
		if seen[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 1 || p.GridPos.H < 1 {
			t.Errorf("%s: it has another panel's id, or lies outside", p.Title)
		}
		seen[p.ID] = true
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%s, a %s, has %d expressions", p.Title, p.Type, len(p.Targets))
		}
		for _, target := range p.Targets {
			exprs++
			asked, err := parseExpression(target.Expr)
			if err != nil {
				t.Errorf("%s: %s: %v", p.Title, target.Expr, err)
				continue
			}
			for _, fault := range asked.faults(labels) {
				t.Errorf("%s: %s: %s", p.Title, target.Expr, fault)
			}
			for _, name := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(asked.kept, name[1]) && !asked.keeps(labels, name[1]) {
					t.Errorf("%s: its legend has %s, which the result of %s lacks", p.Title, name[1], target.Expr)
				}
			}
		}
	}
	for _, v := range d.Templating.List {
		found := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query)
		if v.Type == "query" && (found == nil || labels[found[1]] == nil || !slices.Contains(append(labels[found[1]], scraped...), found[2])) {
			t.Errorf("the variable %s asks for %s, want a label that is exported", v.Name, v.Query)
		}
	}
	if exprs < 30 || d.UID != "conch" {
		t.Errorf("%d expressions in %q, want 30 or more", exprs, d.UID)
	}
}

// What parses and compares finds faults: a guard that cannot fail is none.
func TestExpressionsAreJudged(t *testing.T) {
	t.Parallel()
	labels := map[string][]string{"conch_is_leader": {"scope"}, "conch_x_total": {"scope"}, "conch_build_info": {}}
	for _, good := range []string{
		`conch_is_leader`, `sum by (scope) (rate(conch_x_total{scope=~"$scope"}[5m])) > 0`, `count(conch_build_info) or vector(0)`,
		`topk(3, conch_is_leader and conch_is_leader == 1)`, `-(1 + 2) * conch_is_leader offset 5m`, `sum(conch_is_leader) by (scope)`,
	} {
		if asked, err := parseExpression(good); err != nil || asked.faults(labels) != nil {
			t.Errorf("%s: %v, %q", good, err, asked.faults(labels))
		}
	}
	for _, bad := range []string{
		``, `sum by scope (conch_is_leader)`, `rate(conch_x_total)`, `rate(conch_x_total[5m]`, `conch_is_leader{scope="a}`, `conch_is_leader{scope}`, `conch_is_leader[5m]`,
		`sum by (scope) conch_is_leader`, `conch_is_leader >`, `sums(conch_is_leader)`, `rate(conch_x_total[5 minutes])`, `conch_is_leader{scope=~"("}`, `1 2`,
	} {
		if _, err := parseExpression(bad); err == nil {
			t.Errorf("%s is parsed", bad)
		}
	}
	for _, bad := range []string{`conch_is_leaderr`, `conch_is_leader{role="a"}`, `sum by (role) (conch_is_leader)`, `max(conch_build_info) by (scope)`} {
		if asked, err := parseExpression(bad); err != nil || len(asked.faults(labels)) == 0 {
			t.Errorf("%s passes: %v", bad, err)
		}
	}
}

// labelsOfAll returns the labels of each series that is exported.
func labelsOfAll(page string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(page) {
		name, rest, labelled := strings.Cut(line, "{")
		if !labelled {
			name, _, _ = strings.Cut(line, " ")
			rest = ""
		}
		if !strings.HasPrefix(name, "conch_") {
			continue
		}
		if all[name] == nil {
			all[name] = []string{}
		}
		for _, found := range labelIn.FindAllStringSubmatch(rest, -1) {
			if !slices.Contains(all[name], found[1]) {
				all[name] = append(all[name], found[1])
			}
		}
	}
	return all
}

// question is what an expression asks for.
type question struct {
	series []series
	groups []grouping
	kept   []string // labels that the outermost aggregation keeps
}

type series struct {
	name   string
	labels []string
}

// grouping is an aggregation by labels, over the series from one to another.
type grouping struct {
	labels   []string
	from, to int
}

func (a question) faults(exported map[string][]string) (faults []string) {
	for _, s := range a.series {
		if exported[s.name] == nil {
			faults = append(faults, s.name+" is not exported")
		}
		for _, label := range s.labels {
			if !slices.Contains(append(slices.Clone(exported[s.name]), scraped...), label) {
				faults = append(faults, s.name+" has no label "+label)
			}
		}
	}
	for _, g := range a.groups {
		for _, label := range g.labels {
			for _, s := range a.series[g.from:g.to] {
				if !slices.Contains(append(slices.Clone(exported[s.name]), scraped...), label) {
					faults = append(faults, s.name+" is grouped by "+label+", which it lacks")
				}
			}
		}
	}
	return faults
}

// keeps reports whether a plain selector has the label.
func (a question) keeps(exported map[string][]string, label string) bool {
	return len(a.groups) == 0 && len(a.series) > 0 && slices.Contains(append(slices.Clone(exported[a.series[0].name]), scraped...), label)
}

// parser reads the part of PromQL that the dashboard uses: what it takes is PromQL, and some of that it does not take.
type parser struct {
	tokens []string
	asked  question
}

var (
	token      = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|[0-9]+(?:\.[0-9]+)?[a-z]*|\$?[a-zA-Z_:][\w:]*|==|!=|>=|<=|=~|!~|[-+*/%^(){}\[\],=<>])`)
	duration   = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d|w|y))+$|^\$__rate_interval$`)
	aName      = regexp.MustCompile(`^[a-zA-Z_:][\w:]*$`)
	aNumber    = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	aggregates = []string{"sum", "min", "max", "avg", "count", "group", "topk", "bottomk"}
	// functions by what they take: v an instant vector, r a range of one, n a number.
	functions = map[string]string{"rate": "r", "increase": "r", "max_over_time": "r", "histogram_quantile": "nv", "vector": "n", "absent": "v", "abs": "v", "clamp_min": "vn"}
	// binary are the operators, those that bind least first.
	binary = [][]string{{"or"}, {"and", "unless"}, {"==", "!=", ">=", "<=", ">", "<"}, {"+", "-"}, {"*", "/", "%"}, {"^"}}
)

var errEnds = errors.New("it ends too soon")

func parseExpression(text string) (question, error) {
	p := &parser{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		found := token.FindString(rest)
		if found == "" {
			return question{}, fmt.Errorf("%q cannot be read", rest)
		}
		p.tokens, rest = append(p.tokens, found), rest[len(found):]
	}
	kind, err := p.operation(0)
	switch {
	case err != nil:
		return p.asked, err
	case len(p.tokens) > 0:
		return p.asked, fmt.Errorf("%q follows", p.tokens[0])
	case kind == "r":
		return p.asked, errors.New("it is a range, which no graph shows")
	}
	if n := len(p.asked.groups); n > 0 {
		p.asked.kept = p.asked.groups[n-1].labels // the outermost is read last
	}
	return p.asked, nil
}

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	t := p.peek()
	if t != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) want(t string) error {
	if got := p.next(); got != t {
		return fmt.Errorf("%q stands where %s is wanted", got, t)
	}
	return nil
}

// operation reads operators that bind as tightly as those of a level, or more.
func (p *parser) operation(level int) (kind string, err error) {
	if level == len(binary) {
		return p.unary()
	}
	if kind, err = p.operation(level + 1); err != nil {
		return kind, err
	}
	for slices.Contains(binary[level], p.peek()) {
		p.next()
		right, err := p.operation(level + 1)
		if err != nil {
			return kind, err
		}
		if kind == "r" || right == "r" {
			return kind, errors.New("a range has no operators")
		}
		if kind == "n" && right == "v" {
			kind = "v"
		}
	}
	return kind, nil
}

func (p *parser) unary() (kind string, err error) {
	switch t := p.next(); {
	case t == "":
		return "", errEnds
	case t == "-":
		return p.unary()
	case t == "(":
		if kind, err = p.operation(0); err != nil {
			return kind, err
		}
		return kind, p.want(")")
	case aNumber.MatchString(t):
		return "n", nil
	case slices.Contains(aggregates, t):
		return "v", p.aggregation(t)
	case aName.MatchString(t) && p.peek() == "(":
		return "v", p.call(t)
	case aName.MatchString(t):
		return p.selector(t)
	default:
		return "", fmt.Errorf("%q begins nothing", t)
	}
}

func (p *parser) aggregation(name string) error {
	from := len(p.asked.series)
	labels, err := p.by()
	if err != nil {
		return err
	}
	if err := p.want("("); err != nil {
		return err
	}
	if strings.HasSuffix(name, "k") {
		if !aNumber.MatchString(p.next()) {
			return fmt.Errorf("%s wants a number first", name)
		}
		if err := p.want(","); err != nil {
			return err
		}
	}
	if kind, err := p.operation(0); err != nil || kind != "v" {
		return errors.Join(err, fmt.Errorf("%s of what is no vector", name))
	}
	if err := p.want(")"); err != nil {
		return err
	}
	if labels == nil {
		if labels, err = p.by(); err != nil {
			return err
		}
	}
	if !strings.HasSuffix(name, "k") { // those keep the labels that there are
		p.asked.groups = append(p.asked.groups, grouping{labels, from, len(p.asked.series)})
	}
	return nil
}

// by reads the labels of an aggregation; nil: there are none.
func (p *parser) by() (labels []string, err error) {
	if p.peek() != "by" {
		return nil, nil
	}
	p.next()
	if err := p.want("("); err != nil {
		return nil, err
	}
	for {
		label := p.next()
		if !aName.MatchString(label) {
			return nil, fmt.Errorf("%q is no label", label)
		}
		labels = append(labels, label)
		switch p.next() {
		case ")":
			return labels, nil
		case ",":
		default:
			return nil, errors.New("a list of labels does not end")
		}
	}
}

func (p *parser) call(name string) error {
	takes, known := functions[name]
	if !known {
		return fmt.Errorf("%s is no function that is known here", name)
	}
	p.next()
	for i, wanted := range takes {
		kind, err := p.operation(0)
		if err != nil {
			return err
		}
		if kind != string(wanted) {
			return fmt.Errorf("%s takes %q as its argument %d, and gets %q", name, wanted, i+1, kind)
		}
		if i < len(takes)-1 {
			if err := p.want(","); err != nil {
				return err
			}
		}
	}
	return p.want(")")
}

func (p *parser) selector(name string) (kind string, err error) {
	s := series{name: name}
	if p.peek() == "{" {
		p.next()
		for p.peek() != "}" {
			label, how, value := p.next(), p.next(), p.next()
			if !aName.MatchString(label) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, how) || !strings.HasPrefix(value, `"`) {
				return "", fmt.Errorf("%s%s%s is no matcher", label, how, value)
			}
			if strings.HasSuffix(how, "~") {
				if _, err := regexp.Compile(strings.ReplaceAll(strings.Trim(value, `"`), "$", "")); err != nil {
					return "", err
				}
			}
			s.labels = append(s.labels, label)
			if p.peek() == "," {
				p.next()
			}
		}
		p.next()
	}
	p.asked.series = append(p.asked.series, s)
	kind = "v"
	if p.peek() == "[" {
		p.next()
		if d := p.next(); !duration.MatchString(d) {
			return "", fmt.Errorf("%q is no duration", d)
		}
		kind = "r"
		if err := p.want("]"); err != nil {
			return "", err
		}
	}
	if p.peek() == "offset" {
		p.next()
		if d := p.next(); !duration.MatchString(d) {
			return "", fmt.Errorf("%q is no duration", d)
		}
	}
	return kind, nil
}
