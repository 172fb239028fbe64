package transactions

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pause"
)

const pathSeries = "/v1/series"

// seriesNames are the series that can be asked for.
var seriesNames = []string{"pending_transactions"}

// series has how many transactions were under way in the past, by account and state: in short steps for an hour and in long ones for a day.
// It is counted by this process, whether somebody looks or not, and is gone with it. Any number of readers costs no query. It is safe for
// concurrent use.
type series struct {
	counts *counts
	now    func() time.Time

	mu   sync.Mutex
	hour span // oldest first
	day  span
}

// span is the newest points of a step. What could not be counted has none.
type span struct {
	step   time.Duration
	most   int
	points []point
}

// point is the most that was seen within a step. Its numbers never change.
type point struct {
	at time.Time // when the step begins
	of map[accountID]map[string]int
}

// seriesStep is how often transactions are counted.
const seriesStep = 15 * time.Second

func newSeries(c *counts) *series {
	return &series{
		counts: c, now: time.Now,
		hour: span{step: seriesStep, most: int(time.Hour / seriesStep)},
		day:  span{step: 5 * time.Minute, most: int(24 * time.Hour / (5 * time.Minute))},
	}
}

// follow counts until ctx ends.
func (s *series) follow(ctx context.Context) {
	for rest := time.Second; pause.For(ctx, rest) == nil; rest = seriesStep {
		s.look(ctx)
	}
}

// look counts once. While the database does not answer it notes nothing, since the last numbers would be false.
func (s *series) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if len(s.counts.accounts.all()) == 0 || s.counts.look(ctx) != nil {
		return
	}
	of := s.counts.counted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hour.note(s.now(), of)
	s.day.note(s.now(), of)
}

func (s *span) note(at time.Time, of map[accountID]map[string]int) {
	at = at.Truncate(s.step)
	if n := len(s.points); n > 0 && !s.points[n-1].at.Before(at) { // or the clock was put back
		s.points[n-1].of = larger(s.points[n-1].of, of)
		return
	}
	s.points = append(s.points, point{at, of})
	if over := len(s.points) - s.most; over > 0 {
		s.points = slices.Clone(s.points[over:])
	}
}

// larger returns the larger number of each account and state.
func larger(a, b map[accountID]map[string]int) map[accountID]map[string]int {
	all := maps.Clone(a)
	for id, of := range b {
		one := maps.Clone(of)
		for state, n := range a[id] {
			one[state] = max(one[state], n)
		}
		all[id] = one
	}
	return all
}

// Series is the numbers of a span of time, in steps of one length.
type Series struct {
	AsOf   time.Time `json:"as_of"`
	Name   string    `json:"name"`
	From   time.Time `json:"from"` // when the first step begins
	StepMS int64     `json:"step_ms"`
	Lines  []Line    `json:"series"`
}

// Line is the numbers of one state.
type Line struct {
	State  string `json:"state"`
	Values []*int `json:"values"` // null: it is not known
}

// since returns the numbers from an instant on, of one account or of all together, in the shortest steps that reach so far back.
func (s *series) since(from time.Time, only *accountID) Series {
	s.mu.Lock()
	now, of := s.now(), s.hour
	if from.Before(now.Add(-time.Duration(of.most) * of.step)) {
		of = s.day
	}
	points := slices.Clone(of.points)
	s.mu.Unlock()
	points = slices.DeleteFunc(points, func(p point) bool { return p.at.Before(from.Truncate(of.step)) })
	out := Series{AsOf: now.UTC(), Name: seriesNames[0], From: now.Truncate(of.step).UTC(), StepMS: of.step.Milliseconds(), Lines: make([]Line, len(underWay))}
	steps := 0
	if len(points) > 0 {
		out.From = points[0].at.UTC()
		steps = int(points[len(points)-1].at.Sub(out.From)/of.step) + 1
	}
	for i, state := range underWay {
		out.Lines[i] = Line{State: state, Values: make([]*int, steps)}
		for _, p := range points {
			out.Lines[i].Values[p.at.Sub(out.From)/of.step] = new(p.sum(state, only))
		}
	}
	return out
}

func (p point) sum(state string, only *accountID) (n int) {
	if only != nil {
		return p.of[*only][state]
	}
	for _, of := range p.of {
		n += of[state]
	}
	return n
}

func (a *api) getSeries(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	refuse := func(name, text string, args ...any) error {
		return web.Failf(http.StatusBadRequest, "%s = %.100q "+text, append([]any{name, q.Get(name)}, args...)...).Wrong(name)
	}
	if !slices.Contains(seriesNames, q.Get("name")) {
		return refuse("name", "is none of %v", seriesNames)
	}
	from := a.series.now().Add(-time.Hour)
	if q.Has("since") {
		var err error
		if from, err = time.Parse(time.RFC3339, q.Get("since")); err != nil {
			return refuse("since", "is no time, such as 2026-01-31T12:00:00Z")
		}
	}
	var only *accountID
	if q.Has("account") {
		one, _, known := a.transactions.accounts.find(q.Get("account"))
		if !known {
			return notAccepted(unknownAccount(q.Get("account")))
		}
		only = new(one.id())
	}
	return web.Answer(w, http.StatusOK, a.series.since(from, only))
}
