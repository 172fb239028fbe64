package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/nearest"
	"github.com/conchhq/conch/internal/pattern"
)

// The bounds of [alerting] interval, and the scopes above which a minute is enough work.
const (
	shortest   = time.Second
	longest    = 5 * time.Minute
	manyScopes = 5000
)

// mostName is how many bytes a name has at most: it is a part of the key of an incident.
const mostName = 100

// label is a name that a label may have.
var label = pattern.Of(`^[A-Za-z_]\w*$`)

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if s.interval < shortest || s.interval > longest {
		d.Fault("alerting.interval", "%s is not between %s and %s", s.interval, shortest, longest)
	}
	if c.Node.Cluster == "" && slices.ContainsFunc(s.most, func(r alerts.Receiver) bool { return r.Kind != alerts.Text }) {
		d.Fault("alerting.cluster", "is missing: it is part of the key by which a receiver knows an incident again, and two clusters without names would close each other's")
	}
	if s.led && c.Election.Heartbeat > mostBeat && s.beat == 0 { // the environment says so
		d.Fault("alerting", "heartbeats lie %s apart, and a message to a receiver has to fit between them and the end of the lease of %s: %s at most", c.Election.Heartbeat, alerts.DefaultHold, mostBeat)
	}
	if len(c.Node.Cluster) > mostName {
		d.Fault("alerting.cluster", "has more than %d bytes", mostName)
	}
	for i, r := range s.most {
		if len(r.Name) > mostName {
			d.Fault(fmt.Sprintf("notify[%d].name", i), "has more than %d bytes", mostName)
		}
	}
	names := map[string]string{}
	for _, a := range s.own {
		if first := names[a.Name]; first != "" && a.Name != "" {
			d.Fault(a.place+".name", "%q is the name of %s already", a.Name, first)
		}
		names[a.Name] = a.place
	}
	for _, a := range s.all {
		if a.place == "" {
			continue
		}
		for _, f := range s.faultsOf(a) {
			if !f.warning && !d.Faulted(f.key) { // as it was read
				d.Fault(f.key, "%s", f.text)
			}
		}
	}
}

// remark tells what can be evaluated and may not be what its writer means.
func remark(c config.Config, _ time.Time, tell func(key, text string)) {
	s := config.Of[*Section](c)
	if s == nil {
		return
	}
	for _, a := range s.all {
		if a.place == "" {
			continue
		}
		for _, f := range s.faultsOf(a) {
			if f.warning {
				tell(f.key, f.text)
			}
		}
	}
	if n := len(c.Scopes()); n > manyScopes && s.interval < time.Minute {
		tell("alerting.interval", fmt.Sprintf("with %d scopes, evaluating each %s costs some percent of a processor: one minute is enough", n, s.interval))
	}
}

// finding is what is wrong with an alert of the file.
type finding struct {
	key, text string
	warning   bool
}

// faultsOf finds what is wrong with an alert. Each text names the alert.
func (s *Section) faultsOf(a Alert) (all []finding) {
	add := func(warning bool, key, format string, args ...any) {
		all = append(all, finding{config.Under(a.place, key), fmt.Sprintf("alert %q: ", a.Name) + fmt.Sprintf(format, args...), warning})
	}
	if a.Name == "" || len(a.Name) > mostName {
		add(false, "name", "a name has 1 to %d bytes", mostName)
	}
	switch {
	case a.judged:
	case a.Condition == "":
		known := make([]string, 0, len(s.all))
		for _, one := range Builtin() {
			known = append(known, one.Name)
		}
		text := "it has no condition, and is none of the built-in alerts"
		if one := nearest.To(a.Name, known); one != "" {
			text += ": is " + one + " meant?"
		}
		add(false, "condition", "%s", text)
	case a.parseFail != nil:
		add(false, "condition", "%v", a.parseFail)
	default:
		s.judgeCondition(a, add)
	}
	s.judgeSettings(a, add)
	return all
}

type adder func(warning bool, key, format string, args ...any)

func (s *Section) judgeCondition(a Alert, add adder) {
	if !a.builtin {
		for _, f := range a.parsed.Check() {
			add(f.Warning, "condition", "%s", f.Error())
		}
	}
	known := a.parsed.Labels()
	for i, name := range a.GroupBy {
		if !slices.Contains(known, name) {
			add(false, fmt.Sprintf("group_by[%d]", i), "no member has a label %s%s", name, meant(name, known))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		if err := condition.CheckAnnotation(a.Annotations[key], known); err != nil {
			add(false, "annotations."+key, "%v", err)
		}
	}
}

func (s *Section) judgeSettings(a Alert, add adder) {
	if a.For > 0 && a.For < 2*s.interval {
		add(true, "for", "%s is shorter than two intervals of %s: one sample that is late decides", a.For, s.interval)
	}
	switch a.Severity {
	case critical, warning, info, "error", "page", "warn":
	default:
		add(true, "severity", "%q is none of critical, error, warning, info: receivers that order alerts take it for error", a.Severity)
	}
	known := make([]string, 0, len(s.most))
	for _, r := range s.most {
		known = append(known, r.Name)
	}
	for i, name := range a.Notify {
		if !slices.Contains(known, name) {
			add(false, fmt.Sprintf("notify[%d]", i), "there is no [[notify]] with the name %q%s", name, meant(name, known))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		switch text := a.Labels[key]; {
		case !label().MatchString(key) || strings.HasPrefix(key, "__") || key == "alertname" || key == "severity":
			add(false, "labels."+key, "no label can have this name")
		case strings.Contains(text, "{{"):
			add(false, "labels."+key, "a label is a plain text, since it is part of what an alert is: a template belongs into annotations")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		if !label().MatchString(key) {
			add(false, "annotations."+key, "no annotation can have this name")
		}
	}
}

func meant(word string, known []string) string {
	switch one := nearest.To(word, known); {
	case one != "":
		return fmt.Sprintf(": is %q meant?", one)
	case len(known) == 0:
		return ": there is none"
	}
	return ": there are " + strings.Join(known, ", ")
}
