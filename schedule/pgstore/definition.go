package pgstore

import (
	"encoding/json"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
)

// definition is a definition as it is stored, for people and for the functions of the database. Durations are in seconds.
type definition struct {
	Name     string  `json:"name"`
	Schedule string  `json:"schedule"`
	Timezone string  `json:"timezone"`
	Handler  handler `json:"handler"`
	Args     string  `json:"args"`
	CatchUp  string  `json:"catch_up"`
	Limit    int     `json:"limit"`
	Late     float64 `json:"late"`
	Overlap  string  `json:"overlap"`
	Waits    int     `json:"waits"`
	Jitter   float64 `json:"jitter"`
	Timeout  float64 `json:"timeout"`
	Retries  int     `json:"retries"`
	Queue    string  `json:"queue"`
	Priority int     `json:"priority"`
	Fenced   bool    `json:"fenced"`
	Paused   bool    `json:"paused"`
}

// handler is what a job calls: one of them.
type handler struct {
	Command []string `json:"command,omitempty"`
	HTTP    string   `json:"http,omitempty"`
	Job     string   `json:"job,omitempty"`
}

func asRow(d core.Definition) definition {
	return definition{
		Name: d.Name, Schedule: d.Schedule, Timezone: d.Timezone, Handler: handler{Command: d.Command, HTTP: d.HTTP, Job: d.Job}, Args: d.Args,
		CatchUp: d.CatchUp, Limit: d.Limit, Late: d.Late.Seconds(), Overlap: d.Overlap, Waits: d.Waits, Jitter: d.Jitter.Seconds(),
		Timeout: d.Timeout.Seconds(), Retries: d.Retries, Queue: d.Queue, Priority: d.Priority, Fenced: d.Fenced, Paused: d.Paused,
	}
}

func decode(raw []byte, to *core.Definition) error {
	var d definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	*to = core.Definition{
		Name: d.Name, Schedule: d.Schedule, Timezone: d.Timezone, Command: d.Handler.Command, HTTP: d.Handler.HTTP, Job: d.Handler.Job, Args: d.Args,
		CatchUp: d.CatchUp, Limit: d.Limit, Late: span(d.Late), Overlap: d.Overlap, Waits: d.Waits, Jitter: span(d.Jitter),
		Timeout: span(d.Timeout), Retries: d.Retries, Queue: d.Queue, Priority: d.Priority, Fenced: d.Fenced, Paused: d.Paused,
	}
	return nil
}

func span(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

// moved is moves as conch.cron_move reads them: an array for each field. A nil instant is none.
type moved struct {
	crons           []int64
	was, wall       []*time.Time
	adopted, newest []int
	upto, uptoWall  []*time.Time
	last            []*time.Time
	rest            []rest
	runCrons        []int64
	at, begins      []time.Time
	revisions       []int
}

// rest is what few moves have.
type rest struct {
	Cron     int64      `json:"cron"`
	Adopt    int        `json:"adopt"`
	Since    *time.Time `json:"since"`
	GapFrom  *time.Time `json:"gap_from"`
	GapTo    *time.Time `json:"gap_to"`
	GapCount int        `json:"gap_count"`
	Why      string     `json:"why"`
}

// encode makes moves the first arguments of conch.cron_move.
func encode(all []core.Move) ([]any, error) {
	o := moved{rest: []rest{}}
	for _, m := range all {
		o.crons, o.was, o.wall = append(o.crons, m.Cron), append(o.was, orNil(m.Was.Cursor.At)), append(o.wall, orNil(m.Was.Cursor.Wall))
		o.adopted, o.newest = append(o.adopted, m.Was.Adopted), append(o.newest, m.Was.Newest)
		o.upto, o.uptoWall = append(o.upto, orNil(m.To.At)), append(o.uptoWall, orNil(m.To.Wall))
		var last *time.Time
		for _, r := range m.Runs {
			last = orNil(r.At)
			o.runCrons, o.at, o.begins, o.revisions = append(o.runCrons, m.Cron), append(o.at, r.At), append(o.begins, r.Begins), append(o.revisions, r.Revision)
		}
		o.last = append(o.last, last)
		if m.Adopt == 0 && m.Gap == nil {
			continue
		}
		one := rest{Cron: m.Cron, Adopt: m.Adopt, Since: orNil(m.Since)}
		if g := m.Gap; g != nil {
			one.GapFrom, one.GapTo, one.GapCount, one.Why = orNil(g.From), orNil(g.To), g.Count, g.Why
		}
		o.rest = append(o.rest, one)
	}
	few, err := json.Marshal(o.rest)
	return []any{o.crons, o.was, o.wall, o.adopted, o.newest, o.upto, o.uptoWall, o.last, few, o.runCrons, o.at, o.revisions, o.begins}, err
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
