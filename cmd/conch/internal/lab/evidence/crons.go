package evidence

import (
	"errors"
	"fmt"
)

// Cron is what a cron that is due each second has left behind: the seconds that have a row, and those that have a job, in any order.
type Cron struct{ Rows, Jobs []int64 }

// Crons is the part of a verdict about scheduled times.
type Crons struct {
	Times   int `json:"times"`   // from the first row to the last
	Missing int `json:"missing"` // without a row, or without a job
	Twice   int `json:"twice"`   // with two rows or two jobs
}

// JudgeCron judges what a cron has left behind.
func JudgeCron(c Cron) (v Crons) {
	rows, jobs := map[int64]int{}, map[int64]int{}
	for _, at := range c.Rows {
		rows[at]++
	}
	for _, at := range c.Jobs {
		jobs[at]++
	}
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
		if rows[at] == 0 || jobs[at] == 0 {
			v.Missing++
		}
		if rows[at] > 1 || jobs[at] > 1 {
			v.Twice++
		}
	}
	return v
}

// Fault returns an error that says what is wrong, or nil.
func (c Crons) Fault() error {
	switch {
	case c.Missing+c.Twice > 0:
		return fmt.Errorf("of %d scheduled times: %d missing, %d twice", c.Times, c.Missing, c.Twice)
	case c.Times == 0:
		return errors.New("no scheduled time has come, so nothing was shown of any")
	}
	return nil
}
