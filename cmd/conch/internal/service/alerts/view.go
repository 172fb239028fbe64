package alerts

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/alerts"
)

// The states of alerts, in the order in which they are shown.
const (
	firing   = "firing"
	silenced = "silenced"
	pending  = "pending"
	resolved = "resolved"
)

var states = []string{firing, silenced, pending, resolved}

// AlertView is a group as the API shows it.
type AlertView struct {
	Key         string            `json:"key"`
	Rule        string            `json:"rule"`
	Severity    string            `json:"severity"`
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Summary     string            `json:"summary"`
	Description string            `json:"description,omitempty"`
	Since       time.Time         `json:"since"`
	FiresAt     time.Time         `json:"fires_at,omitzero"`
	Until       *time.Time        `json:"until"`
	Silence     string            `json:"silence,omitempty"`
	Firing      int               `json:"firing"`
	Silenced    int               `json:"silenced"`
	Pending     int               `json:"pending"`
	Members     []Member          `json:"members"`
	Others      int               `json:"others"`
	Tellings    []Telling         `json:"tellings"`
}

// Member is one of an alert.
type Member struct {
	Labels map[string]string `json:"labels"`
	Value  string            `json:"value"`
	State  string            `json:"state"`
	Since  time.Time         `json:"since"`
}

// Telling is what one receiver knows of an alert.
type Telling struct {
	Receiver string     `json:"receiver"`
	State    string     `json:"state"`
	Knows    string     `json:"knows"`
	At       *time.Time `json:"at"`
	Why      string     `json:"why,omitempty"`
}

// Counts are how many alerts there are in each state.
type Counts struct {
	Firing   int `json:"firing"`
	Silenced int `json:"silenced"`
	Pending  int `json:"pending"`
	Resolved int `json:"resolved"`
}

func (c *Counts) add(state string) {
	switch state {
	case firing:
		c.Firing++
	case silenced:
		c.Silenced++
	case pending:
		c.Pending++
	default:
		c.Resolved++
	}
}

const (
	mostShown = 10                  // members of an alert
	history   = 30 * 24 * time.Hour // for which what is over is shown
)

// sight is the tables as a node shows them.
type sight struct {
	alerts.Loaded
	setup    *setup
	ledger   *ledger
	rules    map[string]alerts.Rule
	members  map[string][]alerts.Standing
	tellings map[string][]alerts.Telling
}

func newSight(in alerts.Loaded, u *setup, l *ledger) *sight {
	s := &sight{Loaded: in, setup: u, ledger: l, rules: map[string]alerts.Rule{}, members: map[string][]alerts.Standing{}, tellings: map[string][]alerts.Telling{}}
	for _, r := range u.cfg.Rules {
		s.rules[r.Name] = r
	}
	for _, m := range in.Members {
		s.members[m.Key] = append(s.members[m.Key], m)
	}
	for _, t := range in.Tellings {
		s.tellings[t.Key] = append(s.tellings[t.Key], t)
	}
	return s
}

// stateOf says how one group is; "": there is nothing to show.
func (s *sight) stateOf(g alerts.Group) string {
	muted, waits := false, false
	for _, m := range s.members[g.Key] {
		switch {
		case m.Fires.IsZero():
			waits = true
		case m.Muted == "":
			return firing
		default:
			muted = true
		}
	}
	switch {
	case muted:
		return silenced
	case waits:
		return pending
	case g.Until.IsZero() || s.At.Sub(g.Until) > history || !g.Until.After(g.Since):
		return "" // it has never fired
	case (g.Rule == alerts.AwayRule || g.Rule == alerts.IdleRule) && !slices.ContainsFunc(s.tellings[g.Key], func(t alerts.Telling) bool { return t.Knows != 0 }):
		return "" // perhaps a node has told it, and nobody knows of it
	}
	return resolved
}

// all shows the alerts in their order, and how many there are in each state. Texts are written of those that are selected alone.
func (s *sight) all(selects func(state, rule string) bool, most int) (shown []AlertView, counts Counts) {
	var some []AlertView
	groups := map[string]alerts.Group{}
	for _, g := range s.Groups {
		state := s.stateOf(g)
		if state == "" {
			continue
		}
		if counts.add(state); selects(state, g.Rule) {
			groups[g.Key] = g
			some = append(some, s.show(g, state))
		}
	}
	slices.SortFunc(some, func(a, b AlertView) int {
		by := slices.Index(states, a.State) - slices.Index(states, b.State)
		if by == 0 && a.State == resolved {
			return cmp.Or(b.Until.Compare(*a.Until), cmp.Compare(a.Key, b.Key))
		}
		return cmp.Or(by, urgency(a.Severity)-urgency(b.Severity), a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	shown = append([]AlertView{}, some[:min(len(some), most)]...)
	for i := range shown {
		s.write(&shown[i], groups[shown[i].Key])
	}
	return shown, counts
}

// urgency orders severities.
func urgency(severity string) int {
	switch severity {
	case critical, "page":
		return 0
	case warning, "warn":
		return 2
	case info:
		return 3
	}
	return 1
}

// show shows a group, without texts and receivers.
func (s *sight) show(g alerts.Group, state string) AlertView {
	a := AlertView{Key: g.Key, Rule: g.Rule, Severity: s.rules[g.Rule].Severity, State: state, Since: g.Since, Labels: g.Labels, Members: []Member{}, Tellings: []Telling{}}
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	all := s.members[g.Key]
	for _, m := range all {
		one := Member{m.Labels, number(m.Value), pending, m.Since}
		switch {
		case m.Fires.IsZero():
			a.Pending++
		case m.Muted == "":
			a.Firing++
			one.State, one.Since = firing, m.Fires
		default:
			a.Silenced++
			one.State, one.Since, a.Silence = silenced, m.Fires, max(a.Silence, m.Muted)
		}
		a.Members = append(a.Members, one)
	}
	slices.SortStableFunc(a.Members, func(x, y Member) int {
		return cmp.Or(slices.Index(states, x.State)-slices.Index(states, y.State), x.Since.Compare(y.Since))
	})
	if state != silenced {
		a.Silence = ""
	}
	switch {
	case state == resolved:
		until := g.Until
		a.Until, a.Firing = &until, g.Count
		for _, f := range g.Fired {
			a.Members = append(a.Members, Member{f.Labels, number(f.Value), resolved, f.Since})
		}
		a.Others = max(0, g.Count-len(a.Members))
	case state == pending || a.Since.IsZero() || !g.Fires:
		a.Since = a.Members[0].Since
	}
	if state == pending {
		a.FiresAt = a.Since.Add(s.rules[g.Rule].For)
	}
	if over := len(a.Members) - mostShown; over > 0 {
		a.Members, a.Others = a.Members[:mostShown], a.Others+over
	}
	return a
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// write adds what people read of an alert, and what its receivers know.
func (s *sight) write(a *AlertView, g alerts.Group) {
	m := alerts.Message{Key: g.Key, Rule: g.Rule, Severity: a.Severity, Group: g.Labels}
	if len(a.Members) > 0 {
		value, _ := strconv.ParseFloat(a.Members[0].Value, 64)
		m.Members = []alerts.Firer{{Labels: a.Members[0].Labels, Value: value, Since: a.Members[0].Since}}
	}
	w := s.setup.place.Write(s.setup.texts[g.Rule], m)
	a.Summary, a.Description = w.Title, w.Description
	known := map[string]alerts.Telling{}
	for _, to := range s.rules[g.Rule].Notify {
		known[to] = alerts.Telling{Receiver: to, Told: map[bool]uint64{true: g.Seq}[a.State == pending]}
	}
	for _, t := range s.tellings[g.Key] {
		known[t.Receiver] = t
	}
	for _, t := range known {
		a.Tellings = append(a.Tellings, s.tell(g, t))
	}
	slices.SortFunc(a.Tellings, func(x, y Telling) int { return cmp.Compare(x.Receiver, y.Receiver) })
}

// tell shows what one receiver knows of a group.
func (s *sight) tell(g alerts.Group, t alerts.Telling) Telling {
	out := Telling{Receiver: t.Receiver, Knows: map[alerts.Status]string{0: "nothing", alerts.Firing: firing}[t.Knows]}
	if out.Knows == "" {
		out.Knows = resolved
	}
	if !t.At.IsZero() && t.Knows != 0 {
		at := t.At
		out.At = &at
	}
	failed := s.ledger.told(t.Receiver, g.Key)
	switch {
	case t.Asked:
		out.State = "sending"
	case t.Doubt:
		out.State, out.Why = "doubted", failed.why
	case t.Told >= g.Seq && t.Seq >= g.Seq && t.Knows != 0:
		out.State = "told"
	case t.Told >= g.Seq:
		out.State = "spared"
	case !failed.at.IsZero():
		out.State, out.Why = "failing", failed.why
	default:
		out.State = "waiting"
	}
	return out
}

// RuleView is a rule of the file.
type RuleView struct {
	Rule      string   `json:"rule"`
	Severity  string   `json:"severity"`
	Condition string   `json:"condition"`
	For       string   `json:"for"`
	Builtin   bool     `json:"builtin"`
	Receivers []string `json:"receivers"`
	Trouble   *Unread  `json:"trouble"`
}

// Unread is why a rule was not judged.
type Unread struct {
	Since  time.Time `json:"since"`
	NoData bool      `json:"no_data"`
	Why    string    `json:"why,omitempty"`
}

func (s *sight) ruleList() []RuleView {
	all := []RuleView{}
	for i, r := range s.setup.cfg.Rules {
		a := s.setup.section.all[i]
		one := RuleView{r.Name, r.Severity, a.text(), r.For.String(), a.builtin, append([]string{}, r.Notify...), nil}
		if s.Evaluation != nil {
			if t, is := s.Evaluation.Troubles[r.Name]; is {
				one.Trouble = &Unread{t.Since, t.NoData, t.Fault}
			}
		}
		all = append(all, one)
	}
	return all
}

// ReceiverView is a receiver of the file.
type ReceiverView struct {
	Receiver string     `json:"receiver"`
	Kind     string     `json:"kind"`
	ToldAt   *time.Time `json:"told_at"`
	Waiting  int        `json:"waiting"`
	FailedAt time.Time  `json:"failed_at,omitzero"`
	Why      string     `json:"why,omitempty"`
}

func (s *sight) receiverList() []ReceiverView {
	all := []ReceiverView{}
	for _, c := range s.setup.named {
		one := ReceiverView{Receiver: c.Name, Kind: c.Kind}
		for _, g := range s.Groups {
			for _, t := range s.tellings[g.Key] {
				if t.Receiver != c.Name {
					continue
				}
				if t.Knows != 0 && !t.At.IsZero() && (one.ToldAt == nil || t.At.After(*one.ToldAt)) {
					at := t.At
					one.ToldAt = &at
				}
				if state := s.tell(g, t).State; state == "doubted" || state == "waiting" || state == "failing" {
					one.Waiting++
				}
			}
		}
		if f := s.ledger.last(c.Name); !f.at.IsZero() {
			one.FailedAt, one.Why = f.at.UTC(), f.why
		}
		all = append(all, one)
	}
	return all
}

// Evaluation is the last one.
type Evaluation struct {
	At       time.Time `json:"at"`
	Age      int64     `json:"age_ms"`
	Node     string    `json:"node"`
	Interval int64     `json:"interval_ms"`
	Late     bool      `json:"late"`
}

func (s *sight) evaluation() *Evaluation {
	e := s.Evaluation
	if e == nil {
		return nil
	}
	age := s.At.Sub(e.At)
	return &Evaluation{e.At, age.Milliseconds(), e.Node, s.setup.section.interval.Milliseconds(), age > 3*max(s.setup.section.interval, alerts.DefaultHold)}
}
