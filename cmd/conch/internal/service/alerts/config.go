package alerts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election/mint"
)

// Alert is one of [[alerts]], or a built-in one.
type Alert struct {
	Name        string
	Condition   string
	For, Keep   time.Duration
	Severity    string
	Notify      []string // names of receivers
	GroupBy     []string
	Labels      map[string]string
	Annotations map[string]string

	EachNode bool // a node without a database evaluates it too, over what it knows of itself

	place     string // of the file; "" if nothing of it is in the file
	builtin   bool
	judged    bool                 // it has no condition: package alerts says when it is true
	told      bool                 // notify is given: nil is nobody, and not all
	parsed    *condition.Condition // nil: it cannot be parsed, or is judged
	parseFail error
	comment   string // of a built-in one: why it is as it is
	more      string // of a built-in one: a cell of docs/operations.md
}

// Receivers is a section that has receivers of alerts.
type Receivers interface {
	// Receivers returns them, by the names that notify uses.
	Receivers() []alerts.Receiver
}

// Section is the configuration of the service: [[alerts]]. The keys of [alerting] are the node's.
type Section struct {
	own      []Alert // of the file, as read
	all      []Alert // with the built-in ones
	interval time.Duration
	most     []alerts.Receiver
	here     bool // the file has [alerting], [[alerts]] or [[notify]]: alerts are evaluated
	led      bool // over all nodes, by the one that leads [Scope]; else each node evaluates what it knows of itself
	beat     time.Duration
}

// Scope is what the node leads that evaluates alerts.
const Scope = "conch:alerts"

// mostBeat is how long two heartbeats of the leader of alerts may lie apart: what it sends has to fit into the rest of the lease.
const mostBeat = 3 * time.Second

// DefaultInterval is how often a node tells its samples. It is the same for clusters of all sizes: nodes of one cluster lead different numbers
// of scopes, and all have to agree.
const DefaultInterval = 15 * time.Second

// Table implements config.Section.
func (*Section) Table() string { return "alerts" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{
		s.Table(): func(place string, value any) {
			for i, v := range d.Tables(place, value) {
				one := Alert{place: fmt.Sprintf("%s[%d]", place, i)}
				d.Table(one.place, v, keysOf(d, &one))
				s.own = append(s.own, one)
			}
		},
	}
}

func keysOf(d *config.Decoder, a *Alert) map[string]config.Setter {
	return map[string]config.Setter{
		"name": d.Name(&a.Name), "condition": d.Word(&a.Condition), "for": d.Span(&a.For), "keep_firing_for": d.Span(&a.Keep),
		"severity": d.Name(&a.Severity), "group_by": d.Names(&a.GroupBy), "each_node": d.Flag(&a.EachNode),
		"labels": texts(d, &a.Labels), "annotations": texts(d, &a.Annotations),
		"notify": func(place string, value any) {
			a.told = true
			d.Names(&a.Notify)(place, value)
		},
	}
}

// texts accepts a table of texts.
func texts(d *config.Decoder, to *map[string]string) config.Setter {
	return func(place string, value any) {
		table, is := value.(map[string]any)
		if !is {
			d.Fault(place, `is not a table such as { team = "payments" }`)
			return
		}
		*to = map[string]string{}
		for key, v := range table {
			text := ""
			d.Text(&text)(config.Under(place, key), v)
			(*to)[key] = text
		}
	}
}

// Settle implements config.Section: what the file says of a built-in alert is laid over that one.
func (s *Section) Settle(_ *config.Decoder, c config.Config) {
	s.interval = cmp.Or(c.Node.SampleInterval, DefaultInterval)
	s.here = slices.ContainsFunc(c.Tables(), func(table string) bool { return slices.Contains([]string{"alerting", "alerts", "notify"}, table) })
	s.led = s.here && c.Named && !c.Node.Standalone
	if c.Election.Heartbeat > mostBeat {
		s.beat = mostBeat
	}
	s.all = Builtin()
	for _, own := range s.own {
		at := slices.IndexFunc(s.all, func(a Alert) bool { return a.builtin && a.Name == own.Name && a.place == "" })
		if at >= 0 && own.Condition == "" {
			s.all[at].lay(own)
			continue
		}
		if at >= 0 { // a condition of its own: nothing of the built-in one is left
			s.all = slices.Delete(s.all, at, at+1)
		}
		s.all = append(s.all, own)
	}
	for i := range s.all {
		a := &s.all[i]
		if a.Severity == "" {
			a.Severity = warning
		}
		if a.Condition != "" {
			a.parsed, a.parseFail = condition.Parse(a.Condition)
		}
	}
	s.most = receiversOf(c)
}

// lay takes over what the file says of a built-in alert.
func (a *Alert) lay(own Alert) {
	a.place = own.place
	if own.For > 0 {
		a.For = own.For
	}
	if own.Keep > 0 {
		a.Keep = own.Keep
	}
	if own.Severity != "" {
		a.Severity = own.Severity
	}
	if own.told {
		a.Notify, a.told = own.Notify, true
	}
	if own.GroupBy != nil {
		a.GroupBy = own.GroupBy
	}
	if own.Labels != nil {
		a.Labels = own.Labels
	}
	a.EachNode = a.EachNode || own.EachNode
	maps.Copy(a.Annotations, own.Annotations)
}

// receiversOf returns the receivers of all sections.
func receiversOf(c config.Config) (all []alerts.Receiver) {
	for _, one := range c.Sections {
		if r, is := one.(Receivers); is {
			all = append(all, r.Receivers()...)
		}
	}
	return all
}

// Roles implements config.Section. What a receiver is told nothing can refuse, so it takes the act door; and a lease into which a message fits.
func (s *Section) Roles() []config.Role {
	if !s.led {
		return nil
	}
	return []config.Role{{
		Name: Scope, Scope: Scope, Lease: alerts.DefaultHold, LateThreshold: alerts.DefaultHold - alerts.DefaultHold/10, Heartbeat: s.beat, Takeover: mint.Strict,
	}}
}

// local returns the section with the alerts that a node without a database evaluates.
func (s *Section) local() *Section {
	own := *s
	own.all = slices.DeleteFunc(slices.Clone(s.all), func(a Alert) bool { return !a.EachNode })
	return &own
}

// Interval is how often a node tells its samples.
func (s *Section) Interval() time.Duration { return s.interval }

// Conditions returns the conditions of all alerts.
func (s *Section) Conditions() (all []*condition.Condition) {
	for _, a := range s.all {
		if a.parsed != nil {
			all = append(all, a.parsed)
		}
	}
	return all
}

// Rules returns what the evaluator knows of all alerts.
func (s *Section) Rules() (all []alerts.Rule) {
	for _, a := range s.all {
		notify := a.Notify
		if !a.told {
			notify = make([]string, 0, len(s.most))
			for _, r := range s.most {
				notify = append(notify, r.Name)
			}
		}
		all = append(all, alerts.Rule{Name: a.Name, Severity: a.Severity, For: a.For, Keep: a.Keep, GroupBy: a.GroupBy, Notify: notify, Hash: a.hash(notify)})
	}
	return all
}

// hash is of what decides when an alert fires and who is told: a text that is written otherwise is no other alert.
func (a *Alert) hash(notify []string) string {
	text, _ := json.Marshal([]any{a.Name, a.text(), a.For, a.Keep, a.Severity, a.GroupBy, notify, a.Labels}) //nolint:errchkjson // texts and numbers
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Hash is of all alerts and receivers, and the interval: the same on nodes that have the same ones.
func (s *Section) Hash() string {
	sums := []string{s.interval.String()}
	for _, r := range s.most {
		sums = append(sums, fmt.Sprint(r.Kind, " ", r.Name))
	}
	for _, r := range s.Rules() {
		sums = append(sums, r.Hash)
	}
	slices.Sort(sums)
	text, _ := json.Marshal(sums) //nolint:errchkjson // texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
