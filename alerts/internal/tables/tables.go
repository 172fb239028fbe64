// Package tables has the tables of alerts in memory, and what the statements of a store do with them: each call is one transaction. The simulated world
// and the tests of the loops work on it.
package tables

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
)

const (
	keepNode    = time.Hour           // a node that is silent for so long is forgotten
	keepSilence = 30 * 24 * time.Hour // after its end
	reclaim     = 2 * time.Minute     // after another node has claimed
)

// Tables has what is known of alerts.
type Tables struct {
	groups     map[string]core.Group
	members    map[[2]string]core.Standing
	tellings   map[[2]string]core.Telling
	evaluation *core.Evaluation
	silences   map[string]core.Silence
	nodes      map[string]node
	samples    []Sample
	last       int64
	claims     uint64
	claimed    claim
}

type node struct {
	core.Node
	at time.Time
}

type claim struct {
	n  uint64
	by string
	at time.Time
}

// Report is what a node says of itself, with its samples.
type Report struct {
	core.Node
	Body []byte        // the samples, as those who read them agree; nil: none this time
	Keep time.Duration // for how long samples are kept, those of other nodes too
}

// Sample is what a node has reported once.
type Sample struct {
	ID   int64 // rises
	Node string
	Life string
	Seq  uint64
	At   time.Time // by the database's clock
	Body []byte
}

// Reported is the answer to a report.
type Reported struct {
	Evaluations uint64   // the number of the last evaluation
	Nodes       []string // that have reported within an hour
}

// New returns empty tables.
func New() *Tables {
	return &Tables{
		groups: map[string]core.Group{}, members: map[[2]string]core.Standing{}, tellings: map[[2]string]core.Telling{},
		silences: map[string]core.Silence{}, nodes: map[string]node{},
	}
}

// Load reads all that a new leader needs.
func (t *Tables) Load(now time.Time) core.Loaded {
	out := core.Loaded{At: now, Looked: t.Look(now)}
	out.Groups = slices.SortedFunc(maps.Values(t.groups), func(a, b core.Group) int { return cmp.Compare(a.Key, b.Key) })
	out.Members = slices.SortedFunc(maps.Values(t.members), func(a, b core.Standing) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) })
	out.Tellings = slices.SortedFunc(maps.Values(t.tellings), func(a, b core.Telling) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Receiver, b.Receiver))
	})
	if t.evaluation != nil {
		e := *t.evaluation
		out.Evaluation = &e
	}
	return out
}

// Look reads what is looked at with each evaluation.
func (t *Tables) Look(now time.Time) core.Looked {
	out := core.Looked{Silences: t.Silences(now), Claims: t.claims}
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		out.Nodes = append(out.Nodes, t.nodes[name].Node)
	}
	return out
}

// Record carries out what a leader records.
func (t *Tables) Record(w core.Rows, now time.Time) {
	for _, g := range w.Groups {
		t.groups[g.Key] = g
	}
	for _, m := range w.Ended { // it may come again in the same write
		delete(t.members, [2]string{m.Key, m.ID})
	}
	for _, m := range w.Members {
		t.members[[2]string{m.Key, m.ID}] = m
	}
	for _, one := range w.Tellings {
		t.tellings[[2]string{one.Key, one.Receiver}] = one
	}
	for _, key := range w.Gone {
		delete(t.groups, key)
		maps.DeleteFunc(t.members, func(at [2]string, _ core.Standing) bool { return at[0] == key })
		maps.DeleteFunc(t.tellings, func(at [2]string, _ core.Telling) bool { return at[0] == key })
	}
	if w.Evaluation != nil {
		e := *w.Evaluation
		t.evaluation = &e
		maps.DeleteFunc(t.nodes, func(_ string, n node) bool { return n.at.Before(now.Add(-keepNode)) })
		maps.DeleteFunc(t.silences, func(_ string, s core.Silence) bool { return s.Until.Before(now.Add(-keepSilence)) })
	}
}

// Report notes what a node says of itself. One that is late, since another one of the same life has overtaken it, changes nothing.
func (t *Tables) Report(r Report, now time.Time) Reported {
	if before, is := t.nodes[r.Name]; !is || before.Life != r.Life || before.Seq < r.Seq {
		t.nodes[r.Name] = node{r.Node, now}
		if t.last++; r.Body != nil {
			t.samples = append(t.samples, Sample{ID: t.last, Node: r.Name, Life: r.Life, Seq: r.Seq, At: now, Body: r.Body})
		}
	}
	t.samples = slices.DeleteFunc(t.samples, func(s Sample) bool { return s.At.Before(now.Add(-r.Keep)) })
	out := Reported{}
	if t.evaluation != nil {
		out.Evaluations = t.evaluation.N
	}
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		if !t.nodes[name].at.Before(now.Add(-keepNode)) {
			out.Nodes = append(out.Nodes, name)
		}
	}
	return out
}

// Samples are those above an id, without some.
func (t *Tables) Samples(after int64, without []int64) (all []Sample) {
	for _, s := range t.samples {
		if s.ID > after && !slices.Contains(without, s.ID) {
			all = append(all, s)
		}
	}
	return all
}

// Claim reports whether a node is to say that nobody evaluates, since an evaluation that is the last one still. The claim of another node counts for some minutes.
func (t *Tables) Claim(by string, n uint64, now time.Time) bool {
	last := uint64(0)
	if t.evaluation != nil {
		last = t.evaluation.N
	}
	taken := t.claims > 0 && t.claimed.n == n && now.Before(t.claimed.at.Add(reclaim)) && !now.Before(t.claimed.at.Add(-reclaim))
	if last != n || taken && t.claimed.by != by {
		return false
	}
	t.claimed = claim{n, by, now}
	t.claims++
	return true
}

// Silence sets a silence, or changes the one of its id.
func (t *Tables) Silence(s core.Silence) { t.silences[s.ID] = s }

// Unsilence ends a silence now; false: there is none that lasts.
func (t *Tables) Unsilence(id string, now time.Time) bool {
	s, is := t.silences[id]
	if !is || !s.Until.After(now) {
		return false
	}
	s.Until = now
	t.silences[id] = s
	return true
}

// Silences lists those that have not been forgotten.
func (t *Tables) Silences(now time.Time) []core.Silence {
	all := slices.SortedFunc(maps.Values(t.silences), func(a, b core.Silence) int { return cmp.Compare(a.ID, b.ID) })
	return slices.DeleteFunc(all, func(s core.Silence) bool { return s.Until.Before(now.Add(-keepSilence)) })
}
