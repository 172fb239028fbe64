package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule"
)

// Each fault of a configuration is said, under the name of its cron.
func TestConfigListsEveryFault(t *testing.T) {
	t.Parallel()
	good := schedule.Cron{Name: "good", Schedule: "*/5 * * * *", Job: "work"}
	for _, c := range []struct {
		change func(*schedule.Cron)
		want   string
	}{
		{func(c *schedule.Cron) { c.Name = "" }, "a name has 1 to 64 bytes"},
		{func(c *schedule.Cron) { c.Name = " good" }, "begins or ends with a space"},
		{func(c *schedule.Cron) { c.Timezone = "Mars/Olympus" }, "Mars/Olympus"},
		{func(c *schedule.Cron) { c.Schedule = "0 0 30 2 *" }, "never due"},
		{func(c *schedule.Cron) { c.Schedule = "CRON_TZ=Asia/Tokyo 0 0 * * *" }, "say it once"},
		{func(c *schedule.Cron) { c.Job = "" }, "0 handlers"},
		{func(c *schedule.Cron) { c.HTTP = "https://example.com/run" }, "2 handlers"},
		{func(c *schedule.Cron) { c.Job, c.HTTP = "", "example.com/run" }, "want an address"},
		{func(c *schedule.Cron) { c.Job, c.Command = "", []string{"/no/such/program"} }, "the command"},
		{func(c *schedule.Cron) { c.Args = "{" }, "no JSON"},
		{func(c *schedule.Cron) { c.Args = `"a\u0000b"` }, "NUL"},
		{func(c *schedule.Cron) { c.Args = `"` + strings.Repeat("a", schedule.MostArgs) + `"` }, "at most"},
		{func(c *schedule.Cron) { c.CatchUp = "some" }, "catch_up \"some\""},
		{func(c *schedule.Cron) { c.CatchUp = schedule.All }, "runs one missed time and skips the others"},
		{func(c *schedule.Cron) { c.Overlap = "never" }, "overlap \"never\""},
		{func(c *schedule.Cron) { c.Limit = -1 }, "limit"},
		{func(c *schedule.Cron) { c.Late = time.Millisecond }, "late"},
		{func(c *schedule.Cron) { c.Waits = -1 }, "waits"},
		{func(c *schedule.Cron) { c.Jitter = -1 }, "jitter"},
		{func(c *schedule.Cron) { c.Timeout = 1 }, "timeout"},
		{func(c *schedule.Cron) { c.Retries = -2 }, "retries"},
		{func(c *schedule.Cron) { c.Queue = "\x01" }, "queue"},
		{func(c *schedule.Cron) { c.Priority = 4 }, "priority"},
	} {
		bad := good
		bad.Name = "bad"
		c.change(&bad)
		err := schedule.Config{Crons: []schedule.Cron{good, bad}}.WithDefaults().Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 1 {
			t.Errorf("%+v: %v, want an error that says %q", bad, err, c.want)
		}
	}
	err := schedule.Config{Version: -1, Keep: time.Second, Crons: []schedule.Cron{good, good}}.WithDefaults().Validate()
	for _, want := range []string{"version -1", "keep 1s", `the name "good" twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
	if err := (schedule.Config{Crons: []schedule.Cron{good}}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

// A cron whose Retries are not set has as many as one of a file; none is said by a word of its own, and is stored as it is meant. To complete a configuration twice changes nothing.
func TestRetries(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]int{0: 3, 1: 1, schedule.NoRetries: 0} {
		c := schedule.Config{Crons: []schedule.Cron{{Name: "a", Schedule: "@daily", Job: "a", Retries: given}}}.WithDefaults().WithDefaults()
		if err := c.Validate(); err != nil || c.File().Crons[0].Retries != want {
			t.Errorf("of %d it has %d, want %d: %v", given, c.File().Crons[0].Retries, want, err)
		}
	}
}

// NUL is found however it is escaped, and nothing else is taken for it.
func TestNUL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"\u0000"`: true, `{"a": "b\\\u0000"}`: true, `"\u0001\u0000"`: true, `"\n\u0000`: true,
		`"\\u0000"`: false, `"u0000"`: false, `"\u0001"`: false, ``: false, `\`: false,
	} {
		if got := schedule.HasNUL(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
