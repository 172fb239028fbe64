package evidence

import (
	"errors"
	"fmt"
)

// Cron is what a cron that is due each second has left behind, in seconds and in any order.
type Cron struct {
	Rows []int64 // that have a row
	Jobs []int64 // that have a job
	Done []int64 // of each attempt that has done its job
	Open []int64 // of jobs that have not ended
}

// Crons is the part of a verdict about scheduled times.
type Crons struct {
	Times   int `json:"times"`   // from the first row to the last
	Done    int `json:"done"`    // of which the job is done
	Missing int `json:"missing"` // without a row or a job, or with a job that has ended and is not done
	Twice   int `json:"twice"`   // with two rows, two jobs, or a job that was done twice
}

// JudgeCron judges what a cron has left behind.
func JudgeCron(c Cron) (v Crons) {
	rows, jobs, done, open := counts(c.Rows), counts(c.Jobs), counts(c.Done), counts(c.Open)
	if len(rows) == 0 {
		return v
	}
	first, last := c.Rows[0], c.Rows[0]
	for at := range rows {
		first, last = min(first, at), max(last, at)
	}
	for at := range jobs {
		first, last = min(first, at), max(last, at)
	}
	for at := first; at <= last; at++ {
		v.Times++
		if done[at] > 0 {
			v.Done++
		}
		if rows[at] == 0 || jobs[at] == 0 || done[at]+open[at] == 0 {
			v.Missing++
		}
		if rows[at] > 1 || jobs[at] > 1 || done[at] > 1 {
			v.Twice++
		}
	}
	return v
}

func counts(all []int64) map[int64]int {
	n := map[int64]int{}
	for _, at := range all {
		n[at]++
	}
	return n
}

// Fault returns an error that says what is wrong, or nil.
func (c Crons) Fault() error {
	switch {
	case c.Missing+c.Twice > 0:
		return fmt.Errorf("of %d scheduled times: %d missing, %d twice", c.Times, c.Missing, c.Twice)
	case c.Done == 0:
		return errors.New("no job of a scheduled time was done, so nothing was shown of any")
	}
	return nil
}
