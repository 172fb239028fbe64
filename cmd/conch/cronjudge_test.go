//go:build unix

package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// cronCall is one call of a cron's handler, as somebody outside saw it.
type cronCall struct {
	Cron    string
	At      time.Time // the scheduled time that it was told
	Job     int64
	Attempt int
}

// cronRow is a scheduled time, or a job of one, as it stands in the tables.
type cronRow struct {
	Cron    string
	At      time.Time
	Job     int64
	Outcome string // of a scheduled time
}

// cronAttempt is an attempt that has ended.
type cronAttempt struct {
	Job     int64
	Attempt int
	Outcome string
}

// cronRecord is all that is judged: what the tables say of crons that are due each second, and what came outside, in this order.
type cronRecord struct {
	Since    map[string]time.Time // from when each cron counts
	Until    time.Time            // up to when each cron has to have run
	Rows     []cronRow            // of conch.cron_runs
	Jobs     []cronRow            // of conch.jobs
	Attempts []cronAttempt
	Gaps     int
	Calls    []cronCall
}

// cronVerdict is what came of it.
type cronVerdict struct {
	Times, Jobs, Calls int
	Repeated           int // calls of a later attempt, after one that was lost with its worker
	Faults             []string
}

func (v *cronVerdict) fault(format string, args ...any) {
	v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
}

// judgeCrons judges that each scheduled time has one row and one job, and that the outside has had this job and no other for it, each
// attempt once, and a later one only where the one before was lost. It knows the clock, and nothing of conch's code. (F11, F12)
func judgeCrons(r cronRecord) (v cronVerdict) {
	v.Times, v.Jobs, v.Calls = len(r.Rows), len(r.Jobs), len(r.Calls)
	if r.Gaps > 0 {
		v.fault("%d times are passed over, and none was missed for long", r.Gaps)
	}
	judgeTimes(r, &v)
	type moment struct {
		cron string
		at   int64
	}
	job := map[moment]int64{}
	for _, row := range r.Rows {
		job[moment{row.Cron, row.At.UnixMicro()}] = row.Job
	}
	jobs := map[moment]int{}
	for _, j := range r.Jobs {
		at := moment{j.Cron, j.At.UnixMicro()}
		if jobs[at]++; job[at] != j.Job {
			v.fault("job %d of %s at %s is not the job of its row, %d", j.Job, j.Cron, j.At, job[at])
		}
	}
	had := map[moment]bool{}
	for _, c := range r.Calls {
		at := moment{c.Cron, c.At.UnixMicro()}
		if had[at] = true; job[at] != c.Job {
			v.fault("the handler of %s at %s was called for job %d, and the row says %d", c.Cron, c.At, c.Job, job[at])
		}
	}
	for at, id := range job {
		if jobs[at] != 1 {
			v.fault("%s at %s has %d jobs", at.cron, time.UnixMicro(at.at), jobs[at])
		}
		if !had[at] {
			v.fault("the handler of %s at %s was not called for job %d", at.cron, time.UnixMicro(at.at), id)
		}
	}
	judgeAttempts(r, &v)
	slices.Sort(v.Faults)
	return v
}

// judgeTimes judges that the rows are those of a clock that is read each second.
func judgeTimes(r cronRecord, v *cronVerdict) {
	for cron, since := range r.Since {
		rows, last := map[int64]int{}, since
		for _, row := range r.Rows {
			if row.Cron != cron {
				continue
			}
			if rows[row.At.UnixMicro()]++; row.At.After(last) {
				last = row.At
			}
			if row.Outcome != "enqueued" {
				v.fault("%s at %s is %s", cron, row.At, row.Outcome)
			}
			if row.At.Sub(since) <= 0 || row.At.Sub(since)%time.Second != 0 {
				v.fault("%s has a row at %s, which is none of its times", cron, row.At)
			}
		}
		for at := since.Add(time.Second); !at.After(last) || !at.After(r.Until); at = at.Add(time.Second) {
			if n := rows[at.UnixMicro()]; n != 1 {
				v.fault("%s at %s has %d rows", cron, at, n)
			}
		}
	}
}

// judgeAttempts judges that each job was done once, and called once more only after an attempt that was not.
func judgeAttempts(r cronRecord, v *cronVerdict) {
	ends := map[[2]int64]string{}
	done := map[int64]int{}
	for _, a := range r.Attempts {
		if ends[[2]int64{a.Job, int64(a.Attempt)}] = a.Outcome; a.Outcome == "done" {
			done[a.Job]++
		}
	}
	last := map[int64]int{}
	for _, c := range r.Calls {
		before, again := last[c.Job]
		if again && c.Attempt <= before {
			v.fault("attempt %d of job %d came after attempt %d", c.Attempt, c.Job, before)
		}
		if again {
			v.Repeated++
			if end := ends[[2]int64{c.Job, int64(before)}]; end != "lost" && end != "released" && end != "failed" {
				v.fault("attempt %d of job %d came, and attempt %d is %q", c.Attempt, c.Job, before, end)
			}
		}
		last[c.Job] = c.Attempt
	}
	for job, attempt := range last {
		if done[job] != 1 || ends[[2]int64{job, int64(attempt)}] != "done" {
			v.fault("job %d is done %d times, and its last call, attempt %d, is %q", job, done[job], attempt, ends[[2]int64{job, int64(attempt)}])
		}
	}
}

// The judge finds each kind of fault that it is there for, and none where there is none.
func TestTheJudgeOfCrons(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 4, 24, 1, 0, 0, 500_123_000, time.UTC)
	at := func(n int) time.Time { return since.Add(time.Duration(n) * time.Second) }
	good := func() (r cronRecord) {
		r.Since, r.Until = map[string]time.Time{"c": since}, at(3)
		for i := range 3 {
			id := int64(10 + i)
			r.Rows = append(r.Rows, cronRow{"c", at(i + 1), id, "enqueued"})
			r.Jobs = append(r.Jobs, cronRow{Cron: "c", At: at(i + 1), Job: id})
			r.Calls = append(r.Calls, cronCall{"c", at(i + 1), id, 1})
			r.Attempts = append(r.Attempts, cronAttempt{id, 1, "done"})
		}
		r.Attempts[2].Outcome = "lost"
		r.Attempts = append(r.Attempts, cronAttempt{12, 2, "done"})
		r.Calls = append(r.Calls, cronCall{"c", at(3), 12, 2})
		return r
	}
	if v := judgeCrons(good()); len(v.Faults) > 0 || v.Times != 3 || v.Jobs != 3 || v.Calls != 4 || v.Repeated != 1 {
		t.Errorf("of what is right it says %+v", v)
	}
	for _, c := range []struct {
		name, says string
		spoil      func(*cronRecord)
	}{
		{"a time is missing", "has 0 rows", func(r *cronRecord) { r.Rows = slices.Delete(r.Rows, 1, 2) }},
		{"the last times are missing", "has 0 rows", func(r *cronRecord) { r.Until = at(5) }},
		{"a time twice", "has 2 rows", func(r *cronRecord) { r.Rows = append(r.Rows, r.Rows[0]) }},
		{"a time that is none", "none of its times", func(r *cronRecord) { r.Rows[1].At = r.Rows[1].At.Add(time.Millisecond) }},
		{"skipped", "is skipped", func(r *cronRecord) { r.Rows[1].Outcome = "skipped" }},
		{"passed over", "passed over", func(r *cronRecord) { r.Gaps = 1 }},
		{"no job", "has 0 jobs", func(r *cronRecord) { r.Jobs = r.Jobs[1:] }},
		{"a second job", "is not the job of its row", func(r *cronRecord) { r.Jobs = append(r.Jobs, cronRow{Cron: "c", At: at(1), Job: 99}) }},
		{"a second job outside", "was called for job 99", func(r *cronRecord) { r.Calls = append(r.Calls, cronCall{"c", at(1), 99, 1}) }},
		{"never called", "was not called", func(r *cronRecord) { r.Calls = r.Calls[1:] }},
		{"called twice", "came after attempt 1", func(r *cronRecord) { r.Calls = append(r.Calls, r.Calls[0]) }},
		{"called again although it was done", `attempt 1 is "done"`, func(r *cronRecord) { r.Calls = append(r.Calls, cronCall{"c", at(1), 10, 2}) }},
		{"called again although it runs", `attempt 1 is ""`, func(r *cronRecord) { r.Attempts = slices.Delete(r.Attempts, 2, 3) }},
		{"not done", "done 0 times", func(r *cronRecord) { r.Attempts[0].Outcome = "dead" }},
		{"done twice", "done 2 times", func(r *cronRecord) { r.Attempts[2].Outcome = "done" }},
	} {
		r := good()
		c.spoil(&r)
		if v := judgeCrons(r); !strings.Contains(strings.Join(v.Faults, "\n"), c.says) {
			t.Errorf("%s: it says %q", c.name, v.Faults)
		}
	}
}
