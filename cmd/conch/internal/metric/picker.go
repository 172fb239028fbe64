package metric

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
)

// Picker reads of collectors the series with some names, and does not measure the others. It is not for concurrent use.
type Picker struct {
	sources []prometheus.Collector
	wanted  map[string]bool             // names of series
	kept    map[*prometheus.Desc]string // the family's name if it is wanted, "" if it is not
	round   uint64
	places  map[string]int // of a series in the set, by its key
	seen    []uint64       // the round in which it was there last
	set     *sample.Set
	values  []float64
	key     []byte
}

// mostDescs bounds what a picker remembers of descriptions: a collector that makes them anew each time is read, and forgotten.
const mostDescs = 4096

// NewPicker returns a picker of the series with these names. Those of a histogram have its name with _bucket, _sum or _count behind it.
func NewPicker(all []prometheus.Collector, names []string) *Picker {
	p := &Picker{wanted: map[string]bool{}, kept: map[*prometheus.Desc]string{}, places: map[string]int{}, set: sample.NewSet(nil)}
	for _, name := range names {
		p.wanted[name] = true
	}
	for _, one := range all {
		if p.wants(one) {
			p.sources = append(p.sources, one)
		}
	}
	return p
}

// wants reports whether a collector may have something that is wanted. One that describes nothing may have anything.
func (p *Picker) wants(one prometheus.Collector) bool {
	descs := make(chan *prometheus.Desc)
	go func() { one.Describe(descs); close(descs) }()
	wants, describes := false, false
	for d := range descs {
		describes = true
		wants = p.family(d) != "" || wants
	}
	return wants || !describes
}

// family returns the name of a wanted family; "" of another one.
func (p *Picker) family(d *prometheus.Desc) string {
	if name, known := p.kept[d]; known {
		return name
	}
	name := familyOf(d)
	if !p.wanted[name] && !p.wanted[name+"_bucket"] && !p.wanted[name+"_sum"] && !p.wanted[name+"_count"] {
		name = ""
	}
	if len(p.kept) >= mostDescs {
		clear(p.kept)
	}
	p.kept[d] = name
	return name
}

// familyOf returns the name in a description, which has it in its text alone.
func familyOf(d *prometheus.Desc) string {
	_, text, _ := strings.Cut(d.String(), "fqName: ")
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return ""
	}
	name, _ := strconv.Unquote(quoted)
	return name
}

// ReadSeries measures. The set is the same one as before if no series has come or gone; the values are valid until the next call.
func (p *Picker) ReadSeries() (*sample.Set, []float64) {
	p.round++
	series := p.set.Series
	for _, one := range p.sources {
		found := make(chan prometheus.Metric, 256)
		go func() { one.Collect(found); close(found) }()
		for m := range found {
			if name := p.family(m.Desc()); name != "" {
				series = p.take(series, name, m)
			}
		}
	}
	if len(series) != len(p.set.Series) || slices.ContainsFunc(p.seen, func(round uint64) bool { return round != p.round }) {
		p.settle(series)
	}
	return p.set, p.values
}

// take adds what a metric measures.
func (p *Picker) take(series []sample.Series, name string, m prometheus.Metric) []sample.Series {
	var out dto.Metric
	if m.Write(&out) != nil {
		return series
	}
	add := func(name, le string, v float64) {
		if p.wanted[name] {
			series = p.add(series, name, out.GetLabel(), le, v)
		}
	}
	switch h := out.GetHistogram(); {
	case out.Gauge != nil:
		add(name, "", out.GetGauge().GetValue())
	case out.Counter != nil:
		add(name, "", out.GetCounter().GetValue())
	case out.Untyped != nil:
		add(name, "", out.GetUntyped().GetValue())
	case h != nil:
		for _, b := range h.GetBucket() {
			add(name+"_bucket", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64), float64(b.GetCumulativeCount()))
		}
		add(name+"_bucket", strconv.FormatFloat(math.Inf(1), 'g', -1, 64), float64(h.GetSampleCount()))
		add(name+"_sum", "", h.GetSampleSum())
		add(name+"_count", "", float64(h.GetSampleCount()))
	}
	return series
}

// add notes one value.
func (p *Picker) add(series []sample.Series, name string, labels []*dto.LabelPair, le string, v float64) []sample.Series {
	key := append(p.key[:0], name...)
	for _, l := range labels {
		key = append(append(append(append(key, 0), l.GetName()...), 0), l.GetValue()...)
	}
	p.key = append(append(key, 0, 0), le...)
	if at, known := p.places[string(p.key)]; known {
		p.values[at], p.seen[at] = v, p.round
		return series
	}
	one := sample.Series{Name: name}
	for _, l := range labels {
		if l.GetValue() != "" { // an empty label is none
			one.Labels = append(one.Labels, sample.Label{Name: l.GetName(), Value: l.GetValue()})
		}
	}
	if le != "" {
		one.Labels = append(one.Labels, sample.Label{Name: "le", Value: le})
	}
	slices.SortFunc(one.Labels, func(a, b sample.Label) int { return cmp.Compare(a.Name, b.Name) })
	if len(series) >= sample.MostSeries || !one.Sound() {
		return series // the reader would refuse it, and all others with it
	}
	p.places[string(p.key)] = len(series)
	p.values, p.seen = append(p.values, v), append(p.seen, p.round)
	return append(series, one)
}

// settle makes the set anew, without what is gone.
func (p *Picker) settle(series []sample.Series) {
	keys := make([]string, len(series))
	for key, at := range p.places {
		keys[at] = key
	}
	var kept []sample.Series
	values, seen := p.values[:0], p.seen[:0]
	for at, one := range series {
		if p.seen[at] != p.round {
			delete(p.places, keys[at])
			continue
		}
		p.places[keys[at]] = len(kept)
		kept, values, seen = append(kept, one), append(values, p.values[at]), append(seen, p.round)
	}
	p.set, p.values, p.seen = sample.NewSet(kept), values, seen
}
