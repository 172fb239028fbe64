// Package annotation writes the annotations of alerts, in the language of Prometheus' templates. Whatever a template says, it ends soon and takes
// little memory: it has no loops and calls no other one, and what a function returns is cut.
package annotation

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	prometheus "github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/strutil"

	"github.com/conchhq/conch/internal/pattern"
)

const (
	mostText = 4 << 10  // bytes of a template
	mostSaid = 16 << 10 // bytes of what it says, and of what one of its functions returns
	// mostGrown is for two texts of which each byte of one may be replaced by the other one.
	mostGrown = 1 << 20
)

// defined gives an annotation the words that Prometheus' rules have.
const defined = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"

var (
	errAsks = errors.New("an annotation says what was found, and asks nothing: take query out")
	errLong = fmt.Errorf("it has more than %d bytes, or would make a text of millions", mostText)
	errWide = errors.New("a width or a precision is below 1000 and stands in the format")
	errLoop = errors.New("an annotation has no range, and no template in it: it is about one member")

	wide  = pattern.Of(`%[-+# 0-9.\[\]]*(?:[0-9]{4}|\*)`)
	place = pattern.Of(`^.*template: annotation:(\d+)(?::\d+)?: (?:executing "annotation" at )?`)
)

// Expand writes a template for a member with these labels and this value. The error says what is wrong with the template.
func Expand(text string, labels map[string]string, value float64, now time.Time) (string, error) {
	if !strings.Contains(text, "{{") {
		return text[:min(len(text), mostSaid)], nil
	}
	if err := judge(text); err != nil {
		return "", err
	}
	ask := func(context.Context, string, time.Time) (promql.Vector, error) { return nil, errAsks }
	data := prometheus.AlertTemplateData(labels, map[string]string{}, "", promql.Sample{F: value})
	e := prometheus.NewTemplateExpander(context.Background(), defined+text, "annotation", data, model.TimeFromUnixNano(now.UnixNano()), ask, &url.URL{}, nil)
	e.Funcs(bounded())
	said, err := e.Expand()
	if err != nil {
		return "", errors.New(place().ReplaceAllString(err.Error(), "line $1: "))
	}
	return cut(said), nil
}

// bounded are the functions whose result may be longer than what they are given, with an end.
func bounded() template.FuncMap {
	return template.FuncMap{
		"print":    func(of ...any) string { return cut(fmt.Sprint(of...)) },
		"println":  func(of ...any) string { return cut(fmt.Sprintln(of...)) },
		"html":     func(of ...any) string { return cut(template.HTMLEscaper(of...)) },
		"js":       func(of ...any) string { return cut(template.JSEscaper(of...)) },
		"urlquery": func(of ...any) string { return cut(template.URLQueryEscaper(of...)) },
		"printf": func(format string, of ...any) (string, error) {
			if wide().MatchString(format) {
				return "", errWide
			}
			return cut(fmt.Sprintf(format, of...)), nil
		},
		"reReplaceAll": func(expression, repl, text string) (string, error) {
			re, err := regexp.Compile(expression)
			if err == nil && len(text)*len(repl) > mostGrown {
				err = errLong
			}
			if err != nil {
				return "", err
			}
			return cut(re.ReplaceAllString(text, repl)), nil
		},
		"graphLink": func(expression string) string { return cut(strutil.GraphLinkForExpression(expression)) },
		"tableLink": func(expression string) string { return cut(strutil.TableLinkForExpression(expression)) },
		"tmpl":      func(string, any) (string, error) { return "", errLoop },
	}
}

// cut returns at most mostSaid bytes of a text, without a part of a character.
func cut(s string) string {
	if len(s) <= mostSaid {
		return s
	}
	return strings.ToValidUTF8(s[:mostSaid], "")
}

// judge refuses what need not end. A text that cannot be parsed is for Expand to explain.
func judge(text string) error {
	if len(text) > mostText {
		return errLong
	}
	tree := parse.New("annotation")
	tree.Mode = parse.SkipFuncCheck
	all := map[string]*parse.Tree{}
	if _, err := tree.Parse(defined+text, "{{", "}}", all); err != nil {
		return nil //nolint:nilerr // said by Expand, in Prometheus' words
	}
	if len(all) > 1 || loops(tree.Root) {
		return errLoop
	}
	return nil
}

// loops reports whether a part of a template is done more than once.
func loops(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.RangeNode, *parse.TemplateNode:
		return true
	case *parse.IfNode:
		return loops(n.List) || n.ElseList != nil && loops(n.ElseList)
	case *parse.WithNode:
		return loops(n.List) || n.ElseList != nil && loops(n.ElseList)
	case *parse.ListNode:
		return slices.ContainsFunc(n.Nodes, loops)
	}
	return false
}
