package schedule

import (
	"encoding/json"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
	"github.com/conchhq/conch/schedule/zone"
)

// Cron is a cron as callers see it.
type Cron struct {
	AsOf     *time.Time      `json:"as_of,omitempty"` // of one cron alone
	Name     string          `json:"name"`
	Schedule string          `json:"schedule"`
	Timezone string          `json:"timezone"`
	Handler  Handler         `json:"handler"`
	Args     json.RawMessage `json:"args"`
	CatchUp  string          `json:"catch_up"`
	Limit    int             `json:"limit"`
	Late     string          `json:"late"`
	Overlap  string          `json:"overlap"`
	Waits    int             `json:"waits"`
	Jitter   string          `json:"jitter"`
	Timeout  string          `json:"timeout"`
	Retries  int             `json:"retries"`
	Queue    string          `json:"queue"`
	Priority int             `json:"priority"`
	Fenced   bool            `json:"fenced"`
	Paused   bool            `json:"paused"`
	Filed    bool            `json:"filed"`
	Adopted  bool            `json:"adopted"`
	Since    time.Time       `json:"since"`
	By       string          `json:"by"`
	Settled  *time.Time      `json:"settled_at"`       // null: nobody has led yet
	Last     *Past           `json:"last"`             // null: none
	Due      *time.Time      `json:"due_at,omitempty"` // since when a leader has something to do with it, and does not
	Next     []time.Time     `json:"next"`
	Fault    string          `json:"fault,omitempty"` // why this node cannot read the schedule
	Past     []Past          `json:"past,omitempty"`  // if asked for
	Gaps     []Gap           `json:"gaps,omitempty"`
}

func (c Cron) asOf(at time.Time) Cron {
	c.AsOf = orNull(at.UTC())
	return c
}

// Handler is what a job calls: one of them.
type Handler struct {
	Command []string `json:"command,omitempty"`
	HTTP    string   `json:"http,omitempty"`
	Job     string   `json:"job,omitempty"`
}

// Past is a time that has its row.
type Past struct {
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Job     int64     `json:"job"`
	ByHand  bool      `json:"by_hand"`
	Decided time.Time `json:"decided_at"`
	Ended   string    `json:"ended,omitempty"` // how the last attempt at its job has ended
}

// Gap is times that were passed over.
type Gap struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Count int       `json:"count"`
	Why   string    `json:"why"`
}

// showCron shows a cron with so many of its next times.
func showCron(l pgstore.Listed, now time.Time, most int) Cron {
	c := Cron{
		Name: l.Name, Schedule: l.Schedule, Timezone: l.Timezone, Handler: Handler{l.Command, l.HTTP, l.Job}, Args: json.RawMessage(l.Args),
		CatchUp: l.CatchUp, Limit: l.Limit, Late: l.Late.String(), Overlap: l.Overlap, Waits: l.Waits, Jitter: l.Jitter.String(),
		Timeout: l.Timeout.String(), Retries: l.Retries, Queue: l.Queue, Priority: l.Priority, Fenced: l.Fenced,
		Paused: l.Paused, Filed: l.Filed, Adopted: l.Adopted, Since: l.Since, By: l.By, Settled: orNull(l.Settled), Next: []time.Time{},
	}
	if l.Last != nil {
		c.Last = &showPast([]pgstore.Past{*l.Last})[0]
	}
	plan, err := zone.Parse(l.Schedule, l.Timezone, l.Since)
	switch {
	case err != nil:
		c.Fault = err.Error()
	case !l.Paused:
		c.Next = append(c.Next, next(plan, now.UTC(), most)...)
	}
	if since, _ := overdue(l); !since.IsZero() && now.Sub(since) > l.Jitter+longWait {
		c.Due = orNull(since.UTC())
	}
	return c
}

func showPast(all []pgstore.Past) (out []Past) {
	for _, p := range all {
		out = append(out, Past{p.At, p.Outcome, p.Job, p.Epoch == 0, p.Decided, p.Ended})
	}
	return out
}

func showGaps(all []schedule.Gap) (out []Gap) {
	for _, g := range all {
		out = append(out, Gap(g))
	}
	return out
}

// Job is a job as callers see it.
type Job struct {
	AsOf     *time.Time      `json:"as_of,omitempty"` // of one job alone
	ID       int64           `json:"id"`
	State    string          `json:"state"`
	Attempt  int             `json:"attempt"`
	Queue    string          `json:"queue"`
	Handler  json.RawMessage `json:"handler"`
	Args     json.RawMessage `json:"args,omitempty"` // of one job alone
	Priority int             `json:"priority"`
	Retries  int             `json:"retries"`
	Timeout  string          `json:"timeout"`
	Lane     string          `json:"lane,omitempty"`
	Key      string          `json:"key,omitempty"`
	Cron     string          `json:"cron,omitempty"`
	At       *time.Time      `json:"at,omitempty"` // its scheduled time
	Moment   *time.Time      `json:"moment"`       // when it begins, has begun, died or ended
	Worker   string          `json:"worker,omitempty"`
	Created  time.Time       `json:"created_at"`
	By       string          `json:"by"`
	Why      string          `json:"why,omitempty"`
	Cancels  bool            `json:"cancelling,omitempty"` // its worker is to stop it
	Progress string          `json:"progress,omitempty"`
	Attempts []Attempt       `json:"attempts,omitempty"` // of one job alone
}

func (j Job) asOf(at time.Time) Job {
	j.AsOf = orNull(at.UTC())
	return j
}

// Attempt is one that has ended.
type Attempt struct {
	N       int             `json:"attempt"`
	Outcome string          `json:"outcome"`
	Worker  string          `json:"worker,omitempty"`
	Began   time.Time       `json:"began_at"`
	Ended   time.Time       `json:"ended_at"`
	Error   string          `json:"error,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

func showJob(r pgstore.Record, attempts []pgstore.Attempt) Job {
	j := Job{
		ID: r.ID, State: r.State, Attempt: r.Attempt, Queue: r.Queue, Handler: r.Handler, Args: r.Args, Priority: r.Priority, Retries: r.Retries,
		Timeout: r.Timeout.String(), Lane: r.Lane, Key: r.Key, Cron: r.Cron, At: orNull(r.At), Moment: orNull(r.Moment), Worker: r.Post,
		Created: r.Created, By: r.By, Why: r.Why, Cancels: r.Cancelling, Progress: r.Progress,
	}
	for _, a := range attempts {
		j.Attempts = append(j.Attempts, Attempt{a.N, a.Outcome, a.Post, a.Began, a.Ended, a.Error, a.Result})
	}
	return j
}

// Operation is something done with many dead jobs.
type Operation struct {
	ID    string     `json:"id"`
	Kind  string     `json:"kind"`
	Queue string     `json:"queue,omitempty"`
	Jobs  []int64    `json:"jobs,omitempty"`
	By    string     `json:"by"`
	Begun time.Time  `json:"begun_at"`
	Done  int64      `json:"done"`
	Ended *time.Time `json:"ended_at"` // null: it goes on when it is asked for again
}

func showOperation(c pgstore.Carried) Operation {
	return Operation{fence.Term(c.ID).String(), c.Kind, c.Queue, c.Jobs, c.By, c.Begun, c.Done, orNull(c.Ended)}
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
