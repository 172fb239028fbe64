package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Each scheduled time has one row and one job. Any deviation fails the verdict. (F11, F12)
func TestEachScheduledTimeIsCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		rows, jobs []int64
		want       evidence.Crons
		says       string
	}{
		{"sound", []int64{5, 6, 7}, []int64{7, 6, 5}, evidence.Crons{Times: 3}, ""},
		{"a time without a row", []int64{5, 7}, []int64{5, 6, 7}, evidence.Crons{Times: 3, Missing: 1}, "1 missing"},
		{"a time without a job", []int64{5, 6, 7}, []int64{5, 7}, evidence.Crons{Times: 3, Missing: 1}, "1 missing"},
		{"the last job has no row", []int64{5, 6}, []int64{5, 6, 7}, evidence.Crons{Times: 3, Missing: 1}, "1 missing"},
		{"two rows", []int64{5, 5, 6}, []int64{5, 6}, evidence.Crons{Times: 2, Twice: 1}, "1 twice"},
		{"two jobs", []int64{5, 6}, []int64{5, 6, 6}, evidence.Crons{Times: 2, Twice: 1}, "1 twice"},
		{"nothing", nil, nil, evidence.Crons{}, "no scheduled time has come"},
	} {
		r := sound()
		r.Cron = &evidence.Cron{Rows: c.rows, Jobs: c.jobs}
		v := evidence.Judge(r)
		if err := v.Fault(true); *v.Crons != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %+v, %v; want %+v and %q", c.name, *v.Crons, err, c.want, c.says)
		}
	}
	if got, err := json.Marshal(evidence.Crons{Times: 3}); err != nil || string(got) != `{"times":3,"missing":0,"twice":0}` {
		t.Errorf("the verdict is %s, %v", got, err)
	}
}
