package ui_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// workPages are those of processes, crons, jobs and dead letters.
var workPages = map[string]string{
	"nodes": "#/nodes", "crons": "#/crons", "cron": "#/crons/c?cron=report", "jobs": "#/jobs", "job": "#/jobs/j?id=1600", "dead": "#/dead",
}

// employed is a node with a team and all its work, in trouble.
func employed(t *testing.T) *node {
	t.Helper()
	n := watched(t)
	n.troubled()
	return n
}

// F8: Nodes says in words whether all is well, which node differs and whose log has lost lines; it shows the findings of a doctor with what to
// do, and the configuration in force with where each value comes from.
func TestNodes(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/#/nodes", desk)
	b.says("Nobody campaigns")
	n.busy()
	b.says("3 nodes campaign, with one configuration")
	b.says("All run v1.2.3.")
	b.says("1 process has gone within a day")
	b.press("Examine again")
	b.says("All 3 checks are well")
	b.says("election.lease")
	if got := js[string](b, "[...document.querySelectorAll('.keys-of > div')].find((e) => e.innerText.includes('election.lease')).innerText.replaceAll('\\n', ' ')"); got != "election.lease 3s line 12" {
		t.Errorf("the configuration has %q", got)
	}
	n.mu.Lock()
	n.work.processes[2]["settings"], n.work.processes[2]["address"] = "", "" // a program with the library
	n.mu.Unlock()
	b.says("its program’s own")
	b.says("serves nothing")
	n.troubled()
	b.says("3 nodes campaign, with more than one configuration")
	b.says("node-3 has other roles, terms, channel or locks than most")
	b.says("They run 2 versions.")
	b.says("Lines of the log of node-1 are missing")
	b.says("! 77c0ffee0000 differs")
	b.says("! 4,096 at least")
	b.press("Examine again")
	b.says("1 check fails, 1 warns, 3 are well")
	b.says("What to do: raise max_connections to 200")
	if first := js[string](b, "document.querySelector('.findings li').innerText"); !strings.Contains(first, "fails") {
		t.Errorf("the first finding is %q, want the one that fails", first)
	}
	b.fill(".config input", "preferred")
	b.until("only that key is there, and in the link", "document.querySelectorAll('.keys-of > div').length === 1 && location.hash === '#/nodes?q=preferred'")
}

// F8, F11: Crons says which of them needs somebody, shows what each did and what comes, and runs, pauses and resumes one after it has said what
// that does. The name goes in the body, whatever it is; a token that may operate is asked for first.
func TestCrons(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.mu.Lock()
	n.read, n.operate = "read-0123456789abcdef", "operate-0123456789abcdef"
	n.mu.Unlock()
	b := open(t, n.URL+"/#/crons", desk)
	b.fill("input[type=password]", n.read)
	b.press("Enter")
	b.says("There is no cron")
	n.busy()
	b.says("All 3 crons run")
	b.says("Next: cleanup, in 5 min.")
	if strip := js[string](b, "document.querySelector('.runs').getAttribute('aria-label')"); !regexp.MustCompile(`^The last 12 runs: 12 done, 0 not well. Next in .*5.min\.$`).MatchString(strip) {
		t.Errorf("the strip says %q", strip)
	}
	n.troubled()
	n.mu.Lock()
	n.work.crons[0]["name"] = hostile
	n.mu.Unlock()
	b.says("2 of 7 crons need somebody")
	b.says("nobody runs it")
	if first := js[string](b, "document.querySelector('.cron .state').innerText"); first != "✕ failed for good" {
		t.Errorf("the first cron is %q, want one that needs somebody", first)
	}
	b.at("#/crons/c?cron=" + urlEncoded(hostile))
	b.says("3 times: late")
	b.press("Run now…")
	b.says("The queue default gets one more job, which calls /usr/bin/report --to 'a b'.")
	b.says("It stays in the memory of this tab")
	b.fill("dialog input[type=password]", n.operate)
	b.press("Unlock")
	b.press("Run it")
	b.says("Job 4711 was added.")
	b.press("Close")
	b.press("Pause…")
	b.says("Nothing of it is due from now on")
	b.press("Pause it")
	b.says("It is paused.")
	b.press("Close")
	b.press("Resume…")
	b.says("The times of the pause are not made up for.")
	b.press("Resume it")
	b.says("It runs again")
	b.press("Close")
	b.until("it may be paused again", "[...document.querySelectorAll('main button')].some((e) => e.innerText === 'Pause…')")
	n.mu.Lock()
	defer n.mu.Unlock()
	body := " " + string(encoded(object{"cron": hostile}))
	if got, want := strings.Join(n.work.asked, "\n"), "POST /v1/cron/run"+body+"\nPOST /v1/cron/pause"+body+"\nPOST /v1/cron/resume"+body; got != want {
		t.Errorf("asked for\n%s\nwant\n%s", got, want)
	}
}

// F8, F13: Jobs says whether a queue waits and what is dead, follows the events of the stream, and shows one job with the error of each attempt;
// one is cancelled or tried again after it was said what that does.
func TestJobs(t *testing.T) {
	t.Parallel()
	n := watched(t)
	b := open(t, n.URL+"/#/jobs", desk)
	b.says("There is nothing to do")
	n.busy()
	b.says("13 jobs, and no queue waits for a worker")
	n.troubled()
	n.mu.Lock()
	n.work.tellQueue("mail")
	n.mu.Unlock()
	b.says("1 queue waits for a worker")
	b.says("The first job of default has waited for 10 min.")
	b.says("2,347 dead.")
	b.press("mail")
	b.until("only those of the queue are there", "location.hash === '#/jobs?queue=mail' && document.querySelectorAll('.lines .virtual .row').length > 10 && ![...document.querySelectorAll('.lines .virtual .row')].some((e) => e.innerText.includes('default'))")
	b.at("#/jobs/j?id=1600")
	b.says("It has failed as often as it may: exit status 3: <img src=x onerror=alert(1)>/")
	b.says("1: failed, and is tried again")
	b.says("connection refused")
	b.says("2: failed for good")
	b.press("Try again…")
	b.says("A worker may take it now, for attempt 3: it calls send welcome.")
	b.says("It has 2 attempts again before it is dead.")
	b.press("Try again")
	b.says("It is ready.")
	b.press("Close")
	b.press("Cancel…")
	b.says("No worker takes it")
	b.press("Cancel it")
	b.says("It has ended.")
	b.press("Close")
	b.until("it can be neither cancelled nor tried again", "document.querySelectorAll('.one .buttons button:not(:disabled)').length === 0")
	n.mu.Lock()
	n.work.held = true
	n.mu.Unlock()
	b.at("#/jobs")
	b.says("No job is taken: the database was restored")
	b.press("Release them…")
	b.says("what its rows have as still to be done may have been done")
	b.press("Release them")
	b.says("Workers take jobs again.")
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := strings.Join(n.work.asked, ", "); got != "POST /v1/jobs/1600/retry {}, POST /v1/jobs/1600/cancel {}, POST /v1/jobs:release {}" {
		t.Errorf("asked for %s", got)
	}
}

// F8, F13: many dead jobs are tried again or discarded by a filter: first it is said how many, then they go a thousand at a time, which can be
// stopped and gone on with. What was asked for is one operation, however often an answer is lost.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	n := employed(t)
	b := open(t, n.URL+"/#/dead?queue=mail", desk)
	b.says("2,347 jobs are dead")
	n.mu.Lock()
	n.work.cut, n.work.step = 1, 500
	n.mu.Unlock()
	b.press("Try 2,345 again…")
	b.says("2,345 jobs of the queue mail, and those that die before it begins.")
	b.press("Try again")
	b.says("It does not go on: a proxy has lost the answer.")
	b.press("Go on")
	b.says("2,345 jobs are tried again.")
	b.says("2 jobs are dead")
	n.mu.Lock()
	ids := map[string]int{}
	for _, asked := range n.work.asked {
		ids[regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`).FindString(asked)]++
	}
	if len(ids) != 1 || ids[""] > 0 || len(n.work.asked) < 5 {
		t.Errorf("asked for %q, want one operation in some requests", n.work.asked)
	}
	n.work.asked, n.work.step = nil, mostSteps
	n.mu.Unlock()
	b.press("Close")
	b.at("#/dead")
	b.fill("#filter", "KILLED")
	b.until("the link has it", "location.hash === '#/dead?q=KILLED'")
	b.press("Discard 1…")
	b.says("1 job among the 2 that were read, with “KILLED” in them.")
	b.says("It is never tried again, and that cannot be undone.")
	b.press("Discard")
	b.says("1 job is discarded.")
	b.press("Close")
	b.fill("#filter", "")
	b.says("1 job is dead")
	js[bool](b, "document.querySelector('.lines input').click(); true")
	b.press("Try 1 again…")
	b.says("1 job that is chosen.")
	b.press("Leave it")
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.work.asked) != 1 || !strings.Contains(n.work.asked[0], `"jobs":[1599],"kind":"discard"`) {
		t.Errorf("asked for %q, want the one that was found", n.work.asked)
	}
}

// F8, F13: an operation is stopped between two requests: what is left stays dead.
func TestAnOperationIsStopped(t *testing.T) {
	t.Parallel()
	n := employed(t)
	n.mu.Lock()
	n.work.step = 1
	n.mu.Unlock()
	b := open(t, n.URL+"/#/dead", desk)
	b.press("Discard 2,347…")
	b.press("Discard")
	b.press("Stop")
	b.says("Stopped:")
	b.says("the others are dead as before.")
	n.mu.Lock()
	asked := len(n.work.asked)
	n.work.step = 5000
	n.mu.Unlock()
	b.press("Go on")
	b.says("2,347 jobs are discarded.")
	b.says("No job is dead")
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.work.asked) != asked+1 {
		t.Errorf("after it was stopped %d more requests came, want the one that ends it", len(n.work.asked)-asked)
	}
}

// F8, rule 1: while the database is away nothing on these pages is told as if it were so now, and no button does anything; afterwards
// they are live again without a reload.
func TestWorkIsNotKnown(t *testing.T) {
	t.Parallel()
	n := employed(t)
	b := open(t, n.URL+"/#/nodes", desk)
	js[bool](b, "self.same = true")
	for name, hash := range workPages {
		n.away(0)
		b.at(hash)
		b.until(name+" is live", "document.querySelector('main .panel') && !document.querySelector('main h1').innerText.startsWith('Not known') && !document.querySelector('main .state.unknown')")
		n.away(43e9)
		b.says("Not known: the database has not answered")
		for what, expression := range map[string]string{
			"a button does something":        "[...document.querySelectorAll('main button:not(.quiet)')].some((e) => !e.disabled)",
			"a state is told":                "document.querySelector('main .state:not(.unknown)')",
			"something has a colour":         "[...document.querySelectorAll('main :is(.good, .bad)')].some((e) => e.offsetWidth > 0) || [...document.querySelectorAll('main .warn')].some((e) => e.offsetWidth > 0 && !/[?]/.test(e.innerText))",
			"what was before is forgotten":   "document.querySelectorAll('main .panel').length === 0",
			"the first line is of yesterday": "!document.querySelector('main h1').innerText.startsWith('Not known')",
		} {
			if js[bool](b, "!!("+expression+")") {
				t.Errorf("while the database is away, on %s %s", name, what)
			}
		}
	}
	n.away(0)
	b.at("#/crons")
	b.says("2 of 7 crons need somebody")
	b.until("the buttons are on", "document.querySelectorAll('.cron button:not(:disabled)').length === 14")
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// An answer that is cut off on the way is none, and the page goes on.
func TestAnAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.busy()
	var cut atomic.Bool
	whole := n.Config.Handler
	n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !cut.Load() || r.URL.Path != "/v1/crons" {
			whole.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	b := open(t, n.URL+"/#/crons", desk)
	b.says("All 3 crons run")
	cut.Store(true)
	b.says("Not known: node-2 has not answered")
	cut.Store(false)
	b.says("All 3 crons run")
}

// A node without a database says so, and shows no crons and jobs.
func TestWorkWithoutADatabase(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.work.none = true
	b := open(t, n.URL+"/#/crons", desk)
	for _, hash := range []string{"#/crons", "#/jobs", "#/dead"} {
		b.at(hash)
		b.says("This node uses no database")
	}
}

// F8, S32, rule 4: what others have named is a text on these pages too, with code points for what cannot be seen.
func TestWorkNamesAreTexts(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.troubled()
	n.mu.Lock()
	w := n.work
	for key := range map[string]bool{"id": true, "version": true, "address": true, "settings": true} {
		w.processes[0][key] = hostile
	}
	w.findings[3]["check"], w.findings[3]["detail"], w.findings[3]["remedy"] = hostile, hostile, hostile
	w.keys[6]["value"] = hostile
	for _, key := range []string{"name", "schedule", "timezone", "by", "queue", "fault"} {
		w.crons[0][key] = hostile
	}
	w.crons[0]["handler"] = object{"http": hostile}
	w.jobs = []object{jobOf(1, "dead", hostile, hostile)}
	for _, key := range []string{"lane", "key", "cron", "worker", "by", "progress"} {
		w.jobs[0][key] = hostile
	}
	w.jobs[0]["handler"] = object{"job": hostile}
	n.mu.Unlock()
	b := open(t, n.URL+"/", desk)
	for _, as := range []look{desk, phone} {
		b.resize(as)
		for _, hash := range []string{"#/nodes", "#/crons", "#/crons/c?cron=" + urlEncoded(hostile), "#/jobs", "#/jobs?queue=" + urlEncoded(hostile), "#/jobs/j?id=1", "#/dead"} {
			b.at(hash)
			b.settled()
			if as == desk { // a phone shows less of a name
				b.until("the code point is drawn on "+hash, "document.querySelector('main').innerText.includes('U+202E')")
			}
			b.inert(hash)
		}
	}
}
