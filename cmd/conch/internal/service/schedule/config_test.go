package schedule

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/schedule"
)

const (
	db   = "[database]\nurl = \"postgres://conch@db/app\"\n"
	tick = "[[crons]]\nname = \"tick\"\nschedule = \"* * * * *\"\njob = \"work\"\n"
)

// F12: each key of [schedule] and [[crons]], and the role behind the fenced door.
func TestCrons(t *testing.T) {
	t.Parallel()
	c, err := load(t, db+"[schedule]\nscope = \"clock\"\nversion = 7\nkeep = \"2h\"\non_restore = \"hold\"\n"+tick+`[[crons]]
name = "report"
schedule = "0 9 * * MON-FRI"
timezone = "Europe/Berlin"
command = "sh -c 'exit 0'"
args = { to = "a", n = 2 }
catch_up = "all"
limit = 5
late = "2m"
overlap = "queue"
waits = 3
jitter = "10s"
timeout = "5m"
retries = 0
queue = "reports"
priority = 2
fenced = true
[[crons]]
name = "ping"
schedule = "@hourly"
http = "https://example.com/ping"
args = "[1]"
`)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	want := schedule.Cron{
		Name: "report", Schedule: "0 9 * * MON-FRI", Timezone: "Europe/Berlin", Command: []string{"sh", "-c", "exit 0"}, Args: `{"n":2,"to":"a"}`,
		CatchUp: "all", Limit: 5, Late: 2 * time.Minute, Overlap: "queue", Waits: 3, Jitter: 10 * time.Second, Timeout: 5 * time.Minute, Retries: schedule.NoRetries, Queue: "reports", Priority: 2, Fenced: true,
	}
	roles := c.Settled()
	switch {
	case len(s.crons) != 3 || !reflect.DeepEqual(s.crons[1], want) || s.config("").File().Crons[1].Retries != 0:
		t.Errorf("got %+v\nwant %+v", s.crons, want)
	case s.crons[0].Retries != 3 || s.crons[0].Timezone != "UTC" || s.crons[0].Queue != "default" || s.crons[2].Args != "[1]" || s.crons[2].HTTP == "":
		t.Errorf("got %+v", s.crons)
	case s.version != 7 || s.config("n1").Keep != 2*time.Hour || s.config("n1").Node != "n1" || !s.config("n1").File().Hold:
		t.Errorf("got %+v", s.config("n1"))
	case len(roles) != 1 || roles[0].Scope != "clock" || !roles[0].Fenced || roles[0].Section != "crons":
		t.Errorf("got %+v", roles)
	case !slices.Equal(s.queues(), []string{"default", "reports"}):
		t.Errorf("got %v", s.queues())
	}
	if c, err := load(t, db+"[[roles]]\nname = \"a\"\n"); err != nil || len(c.Settled()) != 1 {
		t.Errorf("without crons: %v, %v", c.Settled(), err)
	}
	if c, err := load(t, db+"[schedule]\nversion = 0\n"); err != nil || c.Settled()[0].Scope != "scheduler" {
		t.Errorf("with a version alone: %v, %v", c.Settled(), err)
	}
}

func TestFaultsOfCrons(t *testing.T) {
	t.Parallel()
	with := func(lines string) string { return db + tick + lines + "\n" }
	without := func(key string) string {
		var kept []string
		for line := range strings.Lines(tick) {
			if !strings.HasPrefix(line, key) {
				kept = append(kept, line)
			}
		}
		return db + strings.Join(kept, "")
	}
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"one table", db + "[crons]\nname = \"x\"\n", []string{"crons", "[[crons]]"}},
		{"an odd name", strings.Replace(with(""), "\"tick\"", "\"ti\u200bck\"", 1), []string{"line 4, crons[0].name"}},
		{"an odd queue", with("queue = \"a \""), []string{"line 7, crons[0].queue"}},
		{"two of [schedule]", db + "[[schedule]]\n", []string{"[schedule]"}},
		{"an unknown key", with("cmd = \"x\""), []string{"line 7, crons[0].cmd"}},
		{"an unknown zone", with("timezone = \"Mars/Olympus\""), []string{"line 7, crons[0].timezone", `"Mars/Olympus" is not in this machine's zone data: want a name such as UTC or Europe/Berlin`}},
		{"a schedule that never fires", strings.Replace(with(""), "* * * * *", "0 0 30 2 *", 1), []string{"line 5, crons[0].schedule", "never due, since no month has such a day: correct"}},
		{"a schedule that is none", strings.Replace(with(""), "* * * * *", "every day", 1), []string{"line 5, crons[0].schedule"}},
		{"a name twice", with(tick), []string{`line 8, crons[1].name: "tick" is the name of crons[0] already`}},
		{"no name", without("name"), []string{"crons[0]", "a name has 1 to 64 bytes"}},
		{"no handler", without("job"), []string{"0 handlers"}},
		{"two handlers", with("http = \"https://example.com\""), []string{"2 handlers"}},
		{"a command that does not exist", without("job") + "command = [\"/no/such/program\"]\n", []string{"crons[0].command", "install it, or correct its name", "/no/such/program"}},
		{"a bad address", without("job") + "http = \"example.com\"\n", []string{"crons[0].http"}},
		{"all with skip", with("catch_up = \"all\""), []string{"line 7, crons[0].catch_up", `take overlap = "queue"`}},
		{"a bad policy", with("overlap = \"never\""), []string{"line 7, crons[0].overlap"}},
		{"args that are no JSON", with("args = \"{\""), []string{"line 7, crons[0].args: args are no JSON: write a text such as"}},
		{"args with a date", with("args = { at = nan }"), []string{"crons[0].args", "JSON does not have"}},
		{"NUL", with(`args = '"\u0000"'`), []string{"line 7, crons[0].args", "NUL"}},
		{"no limit", with("limit = 0"), []string{"line 7, crons[0].limit: 0 is too little"}},
		{"nobody waits", with("waits = 0"), []string{"line 7, crons[0].waits: 0 is too little"}},
		{"a short time", with("timeout = \"1ms\""), []string{"line 7, crons[0].timeout"}},
		{"a priority", with("priority = 9"), []string{"line 7, crons[0].priority"}},
		{"a short memory", with("[schedule]\nkeep = \"1m\""), []string{"schedule.keep: 1m0s: an hour at least"}},
		{"standalone", "[node]\nstandalone = true\n" + tick, []string{"crons", "standalone"}},
		{"a worker that posts without a key", with("[[workers]]\nhosts = [\"a\"]"), []string{"workers[0].hosts", "key_file"}},
		{"a worker of no queue", with("[[workers]]\nqueues = []"), []string{"workers[0]", "no queue"}},
		{"a worker that does nothing", with("[[workers]]\nconcurrency = 0"), []string{"workers[0].concurrency: 0 is too little"}},
		{"a handler that is two", with("[[workers]]\nhandlers = { a = { command = \"true\", http = \"http://a\" } }"), []string{"line 8, workers[0].handlers.a: want a command or an http address"}},
		{"a handler that is none", with("[[workers]]\nhandlers = { a = \"true\" }"), []string{"workers[0].handlers.a"}},
		{"handlers that have no names", with("[[workers]]\nhandlers = [\"true\"]"), []string{"workers[0].handlers"}},
		{"a handler that nobody can name", with("[[workers]]\nhandlers = { \"a \" = { command = \"true\" } }"), []string{"workers[0].handlers.a "}},
		{"a handler that does not exist", with("[[workers]]\nhandlers = { a = { command = \"/no/such/program\" } }"), []string{"workers[0].handlers.a", "install it, or correct its name"}},
		{"a handler whose host is not posted to", with("[[workers]]\nhandlers = { a = { http = \"http://a:1/x\" } }"), []string{`workers[0].handlers.a: the worker does not post to "a:1": add it to its hosts`}},
		{"what is done after a restore", with("[schedule]\non_restore = \"wait\""), []string{`schedule.on_restore: "wait" is neither "go" nor "hold"`}},
		{"no post", with("[schedule]\nposts = 0"), []string{"schedule.posts: 0 is too little"}},
		{"a standalone worker", "[node]\nstandalone = true\n[[workers]]\n", []string{"workers[0]", "standalone"}},
		{"a role's scope", db + "[[roles]]\nname = \"scheduler\"\n" + tick, []string{`"scheduler" is the scope of roles[0] already`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text)
			configtest.Faults(t, err, c.says, "SECRET")
			for _, place := range []string{"crons[0].name:", "crons[0].queue:"} {
				if err != nil && strings.Count(err.Error(), place) > 1 {
					t.Errorf("one key has two faults: %v", err)
				}
			}
		})
	}
}

// The posts of a worker are those of all workers of its queues, in whatever order these are named. A file that has neither a cron nor a version
// declares nothing, and does not retire those of others.
func TestWorkers(t *testing.T) {
	t.Parallel()
	c, err := load(t, db+"[schedule]\nposts = 2\n[[workers]]\nqueues = [\"b\", \"a\"]\n[[workers]]\nconcurrency = 7\n")
	if err != nil {
		t.Fatal(err)
	}
	var scopes []string
	for _, r := range c.Settled() {
		if scopes = append(scopes, r.Scope); !r.Fenced || !r.Kept {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(scopes, []string{"worker/a+b/1", "worker/a+b/2", "worker/default/1", "worker/default/2"}) {
		t.Errorf("got %q", scopes)
	}
	if s := config.Of[*Section](c); s.there || s.workers[1].Concurrency != 7 || !slices.Equal(s.queues(), []string{"a", "b", "default"}) {
		t.Errorf("got %+v", s)
	}
}

// Where both day fields are set, check says which days are meant and when they come; of a file that declares nothing, which keys do nothing; and of a worker, to which host it does not post.
func TestBothDayFields(t *testing.T) {
	t.Parallel()
	c, err := load(t, db+tick+"[[crons]]\nname = \"odd\"\nschedule = \"0 9 13 * FRI\"\ntimezone = \"Europe/Berlin\"\njob = \"work\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	Kind().Remark(c, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), func(key, text string) { told = append(told, key+": "+text) })
	const next = "Next: Fri 2026-01-02 09:00:00 CET, Fri 2026-01-09 09:00:00 CET, Tue 2026-01-13 09:00:00 CET"
	if len(told) != 1 || !strings.HasPrefix(told[0], "crons[1].schedule: both day fields are set") || !strings.HasSuffix(told[0], next) {
		t.Errorf("got %q", told)
	}
	Kind().Remark(config.Config{}, time.Now(), nil)
	told = nil
	const post = "http = \"https://api.example:8443/x\"\n[[workers]]\nkey_file = \"k\"\nhosts = [\"%s\"]\n"
	for _, host := range []string{"api.example:8443", "api.example"} {
		c, err := load(t, db+strings.Replace(tick, "job = \"work\"\n", "", 1)+fmt.Sprintf(post, host))
		if err != nil {
			t.Fatal(err)
		}
		Kind().Remark(c, time.Now(), func(key, text string) { told = append(told, key+": "+text) })
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], `crons[0].http: a worker of this file takes jobs of the queue "default" and does not post to "api.example:8443"`) {
		t.Errorf("got %q", told)
	}
	told = nil
	for _, text := range []string{"[schedule]\nposts = 2\n[[workers]]\n", "[schedule]\nversion = 0\nkeep = \"2h\"\n", "[schedule]\non_restore = \"hold\"\n[[workers]]\n"} {
		c, err := load(t, db+text)
		if err != nil {
			t.Fatal(err)
		}
		Kind().Remark(c, time.Now(), func(key, text string) { told = append(told, key+": "+text) })
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "schedule: this file has neither a cron nor a version") {
		t.Errorf("got %q", told)
	}
}
