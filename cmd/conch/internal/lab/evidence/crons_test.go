package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Each scheduled time has one row and one job, which is done once. Any deviation fails the verdict. (F11, F12, F13)
func TestEachScheduledTimeIsCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                   string
		rows, jobs, done, open []int64
		want                   evidence.Crons
		says                   string
	}{
		{"sound", []int64{5, 6, 7}, []int64{7, 6, 5}, []int64{5, 6}, []int64{7}, evidence.Crons{Times: 3, Done: 2}, ""},
		{"a time without a row", []int64{5, 7}, []int64{5, 6, 7}, []int64{5, 6, 7}, nil, evidence.Crons{Times: 3, Done: 3, Missing: 1}, "1 missing"},
		{"a time without a job", []int64{5, 6, 7}, []int64{5, 7}, []int64{5, 6, 7}, nil, evidence.Crons{Times: 3, Done: 3, Missing: 1}, "1 missing"},
		{"the last job has no row", []int64{5, 6}, []int64{5, 6, 7}, []int64{5, 6, 7}, nil, evidence.Crons{Times: 3, Done: 3, Missing: 1}, "1 missing"},
		{"a job that has ended and is not done", []int64{5, 6}, []int64{5, 6}, []int64{6}, nil, evidence.Crons{Times: 2, Done: 1, Missing: 1}, "1 missing"},
		{"two rows", []int64{5, 5, 6}, []int64{5, 6}, []int64{5, 6}, nil, evidence.Crons{Times: 2, Done: 2, Twice: 1}, "1 twice"},
		{"two jobs", []int64{5, 6}, []int64{5, 6, 6}, []int64{5, 6}, nil, evidence.Crons{Times: 2, Done: 2, Twice: 1}, "1 twice"},
		{"a job that was done twice", []int64{5, 6}, []int64{5, 6}, []int64{5, 6, 6}, nil, evidence.Crons{Times: 2, Done: 2, Twice: 1}, "1 twice"},
		{"nothing done", []int64{5}, []int64{5}, nil, []int64{5}, evidence.Crons{Times: 1}, "no job of a scheduled time was done"},
		{"nothing", nil, nil, nil, nil, evidence.Crons{}, "no job of a scheduled time was done"},
	} {
		r := sound()
		r.Cron = &evidence.Cron{Rows: c.rows, Jobs: c.jobs, Done: c.done, Open: c.open}
		v := evidence.Judge(r)
		if err := v.Fault(true); *v.Crons != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %+v, %v; want %+v and %q", c.name, *v.Crons, err, c.want, c.says)
		}
	}
	if got, err := json.Marshal(evidence.Crons{Times: 3, Done: 2}); err != nil || string(got) != `{"times":3,"done":2,"missing":0,"twice":0}` {
		t.Errorf("the verdict is %s, %v", got, err)
	}
}
