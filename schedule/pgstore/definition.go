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

// move is a move as conch.cron_move reads it. A nil instant is none.
type move struct {
	Cron     int64      `json:"cron"`
	Was      *time.Time `json:"was"`
	Wall     *time.Time `json:"wall"`
	Adopted  int        `json:"adopted"`
	Newest   int        `json:"newest"`
	Upto     *time.Time `json:"upto"`
	UptoWall *time.Time `json:"upto_wall"`
	Last     *time.Time `json:"last"`
	Adopt    int        `json:"adopt"`
	Since    *time.Time `json:"since"`
	GapFrom  *time.Time `json:"gap_from"`
	GapTo    *time.Time `json:"gap_to"`
	GapCount int        `json:"gap_count"`
	Why      string     `json:"why"`
}

type run struct {
	Cron     int64     `json:"cron"`
	At       time.Time `json:"at"`
	Revision int       `json:"revision"`
	Begins   time.Time `json:"begins"`
}

// encode makes moves what conch.cron_move reads.
func encode(all []core.Move) (moves, runs []byte, err error) {
	outMoves, outRuns := []move{}, []run{}
	for _, m := range all {
		one := move{
			Cron: m.Cron, Was: orNil(m.Was.Cursor.At), Wall: orNil(m.Was.Cursor.Wall), Adopted: m.Was.Adopted, Newest: m.Was.Newest,
			Upto: orNil(m.To.At), UptoWall: orNil(m.To.Wall), Adopt: m.Adopt, Since: orNil(m.Since),
		}
		if g := m.Gap; g != nil {
			one.GapFrom, one.GapTo, one.GapCount, one.Why = orNil(g.From), orNil(g.To), g.Count, g.Why
		}
		for _, r := range m.Runs {
			one.Last = orNil(r.At)
			outRuns = append(outRuns, run{Cron: m.Cron, At: r.At, Revision: r.Revision, Begins: r.Begins})
		}
		outMoves = append(outMoves, one)
	}
	if moves, err = json.Marshal(outMoves); err == nil {
		runs, err = json.Marshal(outRuns)
	}
	return moves, runs, err
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
