package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// State is how a scope stands, in one word.
type State string

// The states, the ones that need somebody first.
const (
	Nobody   State = "nobody"   // nobody leads it, and nobody gave it up for good
	Late     State = "late"     // its holder's session lives, and sends no heartbeat in a lease
	Fails    State = "fails"    // it is led, and its role has failed within the last ten minutes
	Holding  State = "holding"  // it is led, and its leader waits until no predecessor can act
	Released State = "released" // it was given up in order, and nobody wants it
	Led      State = "led"
)

// States lists the states in the order in which they are shown.
func States() []State { return []State{Nobody, Late, Fails, Holding, Released, Led} }

func (s State) rank() int { return slices.Index(States(), s) }

// Row is one scope as pages show it.
type Row struct {
	Scope          string     `json:"scope"`
	State          State      `json:"state"`
	Epoch          int64      `json:"epoch"` // 0: never led
	Holder         string     `json:"holder"`
	AcquiredAt     *time.Time `json:"acquired_at"`
	HeartbeatAgeMS int64      `json:"heartbeat_age_ms"` // when it was read; alone it makes no change of a row
	LeaseMS        int64      `json:"lease_ms"`
	Candidates     []string   `json:"candidates"`
	Obstacle       string     `json:"obstacle,omitempty"`
	Failures       int64      `json:"failures,omitempty"`
	LastFailure    string     `json:"last_failure,omitempty"`
}

// RowOf shows what the database has of a scope.
func RowOf(s pgops.ScopeStatus) Row {
	r := Row{
		Scope: s.Scope, State: stateOf(s), Epoch: s.Epoch, Holder: s.Holder, HeartbeatAgeMS: s.HeartbeatAgeMS, LeaseMS: s.LeaseMS,
		Candidates: append([]string{}, s.Candidates...), Obstacle: s.Obstacle, Failures: s.Failures, LastFailure: s.LastFailure,
	}
	if !s.AcquiredAt.IsZero() {
		r.AcquiredAt = new(s.AcquiredAt.UTC())
	}
	return r
}

func stateOf(s pgops.ScopeStatus) State {
	switch {
	case !s.Held && s.Released && len(s.Candidates) == 0:
		return Released
	case !s.Held:
		return Nobody
	case s.HeartbeatAgeMS > s.LeaseMS:
		return Late
	case s.Failures > 0:
		return Fails
	case s.Holding:
		return Holding
	}
	return Led
}

// Unlisted is the row of a scope that has a role in this process and none in the database: nobody has led it yet. One that is led
// without a database has its holder.
func Unlisted(scope, holder string) Row {
	r := Row{Scope: scope, State: Nobody, Holder: holder, Candidates: []string{}}
	if holder != "" {
		r.State, r.Candidates = Led, []string{holder}
	}
	return r
}

// same reports whether a viewer that has r needs none of q.
func (r Row) same(q Row) bool {
	at, was := r.AcquiredAt, q.AcquiredAt
	equal := r.Scope == q.Scope && r.State == q.State && r.Epoch == q.Epoch && r.Holder == q.Holder && r.LeaseMS == q.LeaseMS &&
		r.Obstacle == q.Obstacle && r.Failures == q.Failures && r.LastFailure == q.LastFailure && slices.Equal(r.Candidates, q.Candidates)
	return equal && (at == nil) == (was == nil) && (at == nil || at.Equal(*was))
}

// Place is where a list goes on: after the row that has it.
type Place struct {
	State State
	Scope string
}

// Place returns the row's place in a list.
func (r Row) Place() Place { return Place{r.State, r.Scope} }

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.State.rank(), q.State.rank()), strings.Compare(p.Scope, q.Scope))
}

// Query selects rows: those of some states, if any are named, that have a text in their scope or their holder.
type Query struct {
	States []State
	Text   string
	After  *Place // nil: from the first
	Most   int    // rows
}

// List returns the rows that a query selects, those that need somebody first, and how many there are without its place and limit.
func List(rows []Row, q Query) (page []Row, found int) {
	text := strings.ToLower(q.Text)
	var all []Row
	for _, r := range rows {
		if len(q.States) > 0 && !slices.Contains(q.States, r.State) {
			continue
		}
		if text == "" || strings.Contains(strings.ToLower(r.Scope), text) || strings.Contains(strings.ToLower(r.Holder), text) {
			all = append(all, r)
		}
	}
	found = len(all)
	slices.SortFunc(all, func(a, b Row) int { return a.Place().compare(b.Place()) })
	if q.After != nil {
		all = slices.DeleteFunc(all, func(r Row) bool { return r.Place().compare(*q.After) <= 0 })
	}
	return all[:min(len(all), q.Most)], found
}
