package tables

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/schedule/internal/worker"
)

// State is where a job is.
type State string

// The states.
const (
	Ready   State = "ready"
	Later   State = "later"
	Waiting State = "waiting"
	Taken   State = "taken"
	Over    State = "over"
	Dead    State = "dead"
)

// Job is a job, with the attempt that is next or under way.
type Job struct {
	worker.Job
	Lane     string
	Retries  int
	Priority int
	State    State
	Post     string // that has taken it
	Term     int64  // epoch of that
	Cancel   bool
	Outcomes []string // of its attempts
	runAt    time.Time
	made     time.Time // of a delay; zero: none
	spare    int
}

// waitsOf is by how much a job of a priority goes behind the others.
var waitsOf = []time.Duration{0, time.Minute, 5 * time.Minute, 30 * time.Minute}

// Add adds a job that begins at an instant. If its lane is held it waits, behind so many others at most (-1: any number); else it is not added, and the
// job that holds the lane is returned.
func (t *Tables) Add(j Job, runAt, now time.Time, waits int) (id int64, is bool) {
	lane := t.lanes[j.Lane]
	if j.Lane != "" && len(lane) > 0 && waits >= 0 && len(lane) > waits {
		return lane[0], false
	}
	j.ID, j.Attempt, j.spare, j.runAt = int64(len(t.jobs))+1, 1, j.Retries+1, runAt
	t.jobs[j.ID], t.open[j.ID] = &j, &j
	if j.Lane != "" {
		t.lanes[j.Lane] = append(lane, j.ID)
	}
	if j.State = Waiting; j.Lane == "" || len(lane) == 0 {
		t.start(&j, runAt, time.Time{}, now)
	}
	return j.ID, true
}

func (t *Tables) start(j *Job, runAt, made, now time.Time) {
	j.runAt, j.made = runAt, made
	if j.State, j.Due = Later, runAt; !runAt.After(now) {
		j.ready(now)
	}
	if t.told.IsZero() || j.Due.Before(t.told) {
		t.told = j.Due
	}
}

// Told returns since when jobs may be due that began after the last call, to the second; false: none did.
func (t *Tables) Told() (since time.Time, is bool) {
	since, t.told = t.told, time.Time{}
	return since.Truncate(time.Second), !since.IsZero()
}

func (j *Job) ready(now time.Time) {
	j.State, j.Due = Ready, earlier(j.runAt, now).Add(waitsOf[j.Priority])
}

// Take takes jobs for a worker.
func (t *Tables) Take(post string, epoch int64, queues []string, most worker.Take, now time.Time) worker.Taken {
	var out worker.Taken
	var ready []*Job
	since := most.Since
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		j := t.open[id]
		switch wait := j.runAt.Sub(now); {
		case j.State == Later && (wait <= 0 || j.made.After(now)):
			j.ready(now)
			since = earlier(since, j.Due)
		case j.State == Later && (out.Next == 0 || wait < out.Next):
			out.Next = wait
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		j := t.open[id]
		if j.State == Ready && slices.Contains(queues, j.Queue) && !j.Due.Before(since) && (j.Fenced || !most.Fenced) && j.isOf(most.Kinds) {
			ready = append(ready, j)
		}
	}
	slices.SortStableFunc(ready, func(a, b *Job) int { return a.Due.Compare(b.Due) })
	for _, j := range ready[:min(len(ready), most.Most)] {
		j.State, j.Post, j.Term = Taken, post, epoch
		out.Jobs = append(out.Jobs, j.Job)
	}
	return out
}

// isOf reports whether the handler of a job is of one of some kinds; nil: of any.
func (j *Job) isOf(kinds []string) bool {
	if kinds == nil {
		return true
	}
	var handler map[string]any
	_ = json.Unmarshal(j.Handler, &handler)
	for _, kind := range []string{worker.KindCommand, worker.KindHTTP} {
		if handler[kind] != nil {
			return slices.Contains(kinds, kind)
		}
	}
	return slices.Contains(kinds, worker.KindJob)
}

// Look lists what is taken under a post.
func (t *Tables) Look(post string) (all []worker.Held) {
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		if j := t.open[id]; j.State == Taken && j.Post == post {
			all = append(all, worker.Held{Key: j.Key, Epoch: j.Term, Fenced: j.Fenced, Cancel: j.Cancel})
		}
	}
	return all
}

// Tell ends attempts.
func (t *Tables) Tell(ends []worker.End, now time.Time) (out worker.Told) {
	for _, e := range ends {
		if j := t.jobs[e.ID]; j.State != Taken || j.Attempt != e.Attempt {
			out.Over = append(out.Over, e.Key)
		} else {
			t.end(j, e, now)
		}
	}
	return out
}

func (t *Tables) end(j *Job, e worker.End, now time.Time) {
	if j.Cancel && e.Outcome != worker.Done {
		e.Outcome = worker.Cancelled
	}
	j.Outcomes = append(j.Outcomes, e.Outcome)
	switch e.Outcome {
	case worker.Done, worker.Cancelled:
		t.leave(j, Over, now)
		return
	case worker.Failed, worker.Lost:
		j.spare--
	case worker.Dead:
		j.spare = 0
	}
	if j.spare == 0 {
		t.leave(j, Dead, now)
		return
	}
	j.Attempt++
	t.start(j, now.Add(e.Pause), now, now)
}

// leave lets the lane of a job go, to the next one.
func (t *Tables) leave(j *Job, state State, now time.Time) {
	j.State = state
	delete(t.open, j.ID)
	lane := slices.DeleteFunc(t.lanes[j.Lane], func(id int64) bool { return id == j.ID })
	if t.lanes[j.Lane] = lane; j.Lane != "" && len(lane) > 0 {
		if heir := t.jobs[lane[0]]; heir.State == Waiting {
			t.start(heir, heir.runAt, time.Time{}, now)
		}
	}
}

// Cancel has a job end.
func (t *Tables) Cancel(id int64, now time.Time) {
	switch j := t.jobs[id]; j.State {
	case Taken:
		j.Cancel = true
	case Ready, Later, Waiting:
		j.Outcomes = append(j.Outcomes, worker.Cancelled)
		t.leave(j, Over, now)
	}
}

// Forgive has a job go on that was cancelled, as if nobody had written that down: a world shows so what that is for.
func (t *Tables) Forgive(id int64) { t.jobs[id].Cancel = false }

// Jobs lists all jobs in their order.
func (t *Tables) Jobs() []Job {
	var all []Job
	for _, j := range t.jobs {
		all = append(all, *j)
	}
	slices.SortFunc(all, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Job returns a job.
func (t *Tables) Job(id int64) Job { return *t.jobs[id] }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
