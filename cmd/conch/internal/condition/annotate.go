package condition

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"

	"github.com/conchhq/conch/internal/nearest"
)

// mostSaid is how many bytes an annotation becomes at most.
const mostSaid = 4096

// defined gives an annotation the words that Prometheus' rules have.
const defined = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"

var (
	errAsks   = errors.New("an annotation says what was found, and asks nothing: take query out")
	fromTempl = regexp.MustCompile(`^.*template: annotation:(\d+)(?::\d+)?: (?:executing "annotation" at )?`)
	labelUsed = regexp.MustCompile(`(?:\$labels|\.Labels)\.([A-Za-z_]\w*)`)
)

// Expand writes an annotation of a member, in the language of Prometheus' templates. The error says what is wrong with the template.
func Expand(text string, labels map[string]string, value float64, now time.Time) (string, error) {
	ask := func(context.Context, string, time.Time) (promql.Vector, error) { return nil, errAsks }
	data := template.AlertTemplateData(labels, map[string]string{}, "", promql.Sample{F: value})
	e := template.NewTemplateExpander(context.Background(), defined+text, "annotation", data, model.TimeFromUnixNano(now.UnixNano()), ask, &url.URL{}, nil)
	said, err := e.Expand()
	if err != nil {
		return "", errors.New(fromTempl.ReplaceAllString(err.Error(), "line $1: "))
	}
	if len(said) > mostSaid {
		said = strings.ToValidUTF8(said[:mostSaid], "")
	}
	return said, nil
}

// CheckAnnotation finds what would keep an annotation from being written, and labels in it that no member has.
func CheckAnnotation(text string, labels []string) error {
	if len(text) > mostText {
		return fmt.Errorf("it has %d bytes: %d are allowed", len(text), mostText)
	}
	if !utf8.ValidString(text) {
		return errors.New("it is no text")
	}
	some := map[string]string{}
	for _, name := range labels {
		some[name] = "some"
	}
	if _, err := Expand(text, some, 1, time.Unix(0, 0)); err != nil {
		return err
	}
	for _, used := range labelUsed.FindAllStringSubmatch(text, -1) {
		if slices.Contains(labels, used[1]) || slices.Contains(scraped, used[1]) {
			continue
		}
		if one := nearest.To(used[1], labels); one != "" {
			return fmt.Errorf("no member has a label %s: is %s meant?", used[1], one)
		}
		return fmt.Errorf("no member has a label %s", used[1])
	}
	return nil
}
