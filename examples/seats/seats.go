// Package seats is a second state machine of a log, as a user writes one: seats of events, so that none is given away
// twice however many nodes take reservations, and whichever of them dies.
//
//	{"do":"open","event":"talk","seats":40}
//	{"do":"reserve","event":"talk","name":"ann","mail":"ann@example.org"}    mails her once it is committed
//	{"do":"release","event":"talk","name":"ann"}
//
// The query {"event":"talk"} answers {"seats":40,"taken":["ann"]}. It was written from the text of package kv.
package seats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// Machine is what the genesis of such a log says.
const Machine = "seats/1"

const mostName, mostSeats, mostEntries = 100, 10_000, 30_000 // so a snapshot has less than txlog.MostState bytes

// state has two kinds of entries: an event with its number of seats and how many are taken, and below it each name with
// its address.
type state struct {
	texts map[string]string
	tree  txlog.Tree
}

type event struct{ Seats, Taken int }

type goal struct {
	Do, Event, Name, Mail string
	Seats                 int
}

type change struct{ Key, Before, After string }

// New returns the state without events.
func New() txlog.State { return &state{texts: map[string]string{}} }

func item(key, text string) []byte { return fmt.Appendf(nil, "%d:%s%s", len(key), key, text) }

// isName reports whether a text names an event or a person: a slash parts the two in a key.
func isName(s string) bool {
	return s != "" && len(s) <= mostName && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '/' })
}

// parse reads one object with these fields, and nothing after it.
func parse(text []byte, into any) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into) == nil && !dec.More()
}

// Execute implements txlog.State.
func (s *state) Execute(text []byte, budget *txlog.Budget) txlog.Outcome {
	budget.Spend(len(text)) // it is read once, and everything else takes a few steps
	var g goal
	if !parse(text, &g) || !isName(g.Event) || g.Do != "open" && !isName(g.Name) {
		return txlog.Failed(`a goal is {"do":"open","event":…,"seats":…}, or "reserve" or "release" with "event" and "name"`)
	}
	was, seat := s.texts[g.Event], g.Event+"/"+g.Name
	var e event
	_ = json.Unmarshal([]byte(was), &e) // no event is one without seats
	var effects []txlog.Effect
	after := ""
	switch {
	case g.Do == "open" && (was != "" || g.Seats < 1 || g.Seats > mostSeats || len(s.texts) >= mostEntries):
		return txlog.Failed(fmt.Sprintf("an event is opened once, with 1 to %d seats, and there is room for %d events and seats", mostSeats, mostEntries))
	case g.Do == "open":
		return outcome(nil, change{g.Event, "", form(event{Seats: g.Seats})})
	case was == "":
		return txlog.Failed("there is no event " + g.Event)
	case g.Do == "reserve" && s.texts[seat] != "":
		return txlog.Failed(g.Name + " has a seat already")
	case g.Do == "reserve" && (e.Taken == e.Seats || len(s.texts) >= mostEntries):
		return txlog.Failed(fmt.Sprintf("all %d seats are taken", e.Taken))
	case g.Do == "reserve" && (g.Mail == "" || len(g.Mail) > mostName):
		return txlog.Failed(`"mail" is missing, or too long`)
	case g.Do == "reserve":
		e.Taken++
		after = g.Mail
		effects = []txlog.Effect{{Kind: "mail", Body: []byte(form(map[string]string{"to": g.Mail, "text": "You have a seat: " + g.Event}))}}
	case g.Do == "release" && s.texts[seat] == "":
		return txlog.Failed(g.Name + " has no seat")
	case g.Do == "release":
		e.Taken--
	default:
		return txlog.Failed("nothing is called " + g.Do)
	}
	return outcome(effects, change{g.Event, was, form(e)}, change{seat, s.texts[seat], after}) // sorted: a seat comes after its event
}

func outcome(effects []txlog.Effect, all ...change) txlog.Outcome {
	return txlog.Outcome{Result: []byte(`"done"`), Diff: []byte(form(all)), Effects: effects}
}

func form(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers have a form
	}
	return string(text)
}

// Apply implements txlog.State.
func (s *state) Apply(diff []byte) error {
	var all []change
	if len(diff) > 0 && !parse(diff, &all) {
		return fmt.Errorf("%w: no list of changes", txlog.ErrMalformed)
	}
	for i, c := range all {
		if c.Key == "" || c.Before == c.After || i > 0 && c.Key <= all[i-1].Key {
			return fmt.Errorf("%w: changes that are none, or out of order", txlog.ErrMalformed)
		}
		if s.texts[c.Key] != c.Before {
			return fmt.Errorf("%w: %s", txlog.ErrDiff, c.Key)
		}
	}
	for _, c := range all {
		s.set(c.Key, c.Before, c.After)
	}
	return nil
}

// set makes one change, and keeps the tree.
func (s *state) set(key, before, after string) {
	if before != "" {
		s.tree.Remove(item(key, before))
		delete(s.texts, key)
	}
	if after != "" {
		s.tree.Add(item(key, after))
		s.texts[key] = after
	}
}

// View implements txlog.State.
func (s *state) View() txlog.View { return &state{texts: maps.Clone(s.texts)} }

// Query implements txlog.View.
func (s *state) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	budget.Spend(len(query))
	var q struct{ Event string }
	var e event
	if !parse(query, &q) || json.Unmarshal([]byte(s.texts[q.Event]), &e) != nil {
		return nil, fmt.Errorf(`a query is {"event":…}, of one that is open`)
	}
	taken := make([]string, 0, e.Taken)
	for key := range s.texts {
		budget.Spend(1)
		if name, is := strings.CutPrefix(key, q.Event+"/"); is {
			taken = append(taken, name)
		}
	}
	slices.Sort(taken)
	return []byte(form(map[string]any{"seats": e.Seats, "taken": taken})), nil
}

// Hash implements txlog.State.
func (s *state) Hash() txlog.Hash { return s.tree.Hash() }

// Snapshot implements txlog.State.
func (s *state) Snapshot() []byte { return []byte(Machine + form(s.texts)) }

// Restore implements txlog.State.
func (s *state) Restore(snapshot []byte) error {
	*s = state{texts: map[string]string{}}
	texts := map[string]string{}
	body, is := bytes.CutPrefix(snapshot, []byte(Machine))
	if !is || !parse(body, &texts) {
		return fmt.Errorf("%w: no snapshot of %s", txlog.ErrMalformed, Machine)
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if key == "" || texts[key] == "" {
			return fmt.Errorf("%w: an entry of nothing", txlog.ErrMalformed)
		}
		s.set(key, "", texts[key])
	}
	return nil
}
