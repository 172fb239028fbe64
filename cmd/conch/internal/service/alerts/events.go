package alerts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pause"
)

// kindAlert is what event streams call what happens to alerts, and the parameter by which a caller names a rule.
const kindAlert = "alert"

// selects takes the rule that the caller of an event stream names: any may come with another file.
func (s *service) selects(named string) (rule string, err error) {
	if _, err := s.inDatabase(); err != nil {
		return "", err
	}
	return named, nil
}

// Event is what an event stream is told of a rule.
type Event struct {
	AsOf     time.Time `json:"as_of"`
	Rule     string    `json:"rule"`
	Severity string    `json:"severity"`
	Counts   Counts    `json:"counts"`
}

const (
	tellEach  = 2 * time.Second
	tellRest  = 50 // of the time that a reading takes
	tellAgain = 10 * time.Second
)

// tellCounts tells the event streams of this node how many alerts each rule has, whenever that has changed, until ctx ends. One reading serves all that
// hear of it, and nothing is read while nobody does.
func (s *service) tellCounts(ctx context.Context) {
	var told map[string]Event
	for wait := tellEach; pause.For(ctx, wait) == nil; {
		wait = tellEach
		u, err := s.inDatabase()
		if err != nil || !s.frame.Board.Heard(kindAlert) {
			told = nil // those that hear of it next begin with all
			continue
		}
		began := time.Now()
		asking, cancel := context.WithTimeout(ctx, patience)
		in, err := s.store.Load(asking)
		cancel()
		if wait = max(tellEach, tellRest*time.Since(began)); err != nil {
			wait = max(wait, tellAgain)
			continue
		}
		now := newSight(in, u, s.ledger).events()
		for _, e := range moved(told, now) {
			e.AsOf = in.At
			s.frame.Board.Tell(web.Notice{Kind: kindAlert, Subject: e.Rule, Data: e})
		}
		told = now
	}
}

// events counts the alerts of each rule that has some. What is told of it changes whenever a number does, or what is alike has another group.
func (s *sight) events() map[string]Event {
	all := map[string]Event{}
	for _, g := range s.Groups {
		state := s.stateOf(g)
		if state == "" {
			continue
		}
		e := all[g.Rule]
		e.Rule, e.Severity = g.Rule, s.rules[g.Rule].Severity
		e.Counts.add(state)
		all[g.Rule] = e
	}
	return all
}

// moved returns the rules that have other alerts than before, in the order of their names.
func moved(before, now map[string]Event) (all []Event) {
	for name, was := range before {
		if _, still := now[name]; !still {
			all = append(all, Event{Rule: name, Severity: was.Severity})
		}
	}
	for name, e := range now {
		if was, known := before[name]; !known || was != e {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(a.Rule, b.Rule) })
	return all
}
