package ui_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// work is what a stand-in says of processes, crons and jobs. The node's lock guards it.
type work struct {
	node      *node
	processes []object
	findings  []object
	keys      []object
	crons     []object
	jobs      []object // the newest first
	held      bool
	none      bool // the node uses no database
	cut       int  // so many answers to operations are lost on the way
	step      int  // so many dead jobs an operation has in a request
	done      map[string]object
	asked     []string // what came, with its body
	exams     int
}

const mostSteps = 1000

func newWork(n *node, api func(path string, serve func(http.ResponseWriter, *http.Request))) *work {
	w := &work{node: n, step: mostSteps, done: map[string]object{}, processes: []object{}, findings: []object{}, keys: []object{}, crons: []object{}, jobs: []object{}}
	get := func(path string, serve func(r *http.Request) (int, any)) {
		api(path, func(out http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			status, said := http.StatusServiceUnavailable, any("connection refused")
			if n.awaySince.IsZero() || strings.HasSuffix(path, "/doctor") || strings.HasSuffix(path, "/config") {
				status, said = serve(r)
			}
			lost := strings.Contains(path, "operations") && w.cut > 0
			if lost {
				w.cut--
			}
			n.mu.Unlock()
			switch why, refused := said.(string); {
			case lost:
				refuse(out, http.StatusBadGateway, "a proxy has lost the answer")
			case refused && w.none:
				out.Header().Set("Content-Type", "application/problem+json")
				out.WriteHeader(status)
				_, _ = out.Write(encoded(object{"type": "urn:conch:problem:no-database", "title": "No database", "status": status, "detail": why}))
			case refused:
				refuse(out, status, why)
			default:
				out.Header().Set("Content-Type", "application/json")
				out.WriteHeader(status)
				_, _ = out.Write(encoded(said))
			}
		})
	}
	rows := func(path string, serve func(r *http.Request) (int, any)) {
		get(path, func(r *http.Request) (int, any) {
			if w.none {
				return http.StatusNotFound, "this node uses no database, which has the crons and the jobs"
			}
			return serve(r)
		})
	}
	get("GET /v1/processes", func(*http.Request) (int, any) { return 200, dated("processes", w.processes) })
	get("GET /v1/doctor", func(*http.Request) (int, any) { w.exams++; return 200, dated("findings", w.findings) })
	get("GET /v1/config", func(*http.Request) (int, any) { return 200, object{"settings": "4f00aa12bb34", "keys": w.keys} })
	rows("GET /v1/crons", func(*http.Request) (int, any) { return 200, dated("crons", w.crons) })
	rows("GET /v1/cron", func(r *http.Request) (int, any) { return w.cron(r.URL.Query().Get("cron")) })
	rows("POST /v1/cron/run", func(r *http.Request) (int, any) {
		w.note(r)
		return 200, object{"runs": []object{{"at": moment(0), "outcome": "enqueued", "job": 4711, "by_hand": true, "decided_at": moment(0)}}}
	})
	for verb, paused := range map[string]bool{"pause": true, "resume": false} {
		rows("POST /v1/cron/"+verb, func(r *http.Request) (int, any) {
			body := w.note(r)
			for _, c := range w.crons {
				if c["name"] == body["cron"] {
					c["paused"] = paused
				}
			}
			return w.cron(fmt.Sprint(body["cron"]))
		})
	}
	rows("GET /v1/queues", func(*http.Request) (int, any) {
		said := dated("queues", w.queues())
		said["held"], said["restored_at"] = w.held, nil
		if w.held {
			said["restored_at"] = moment(-time.Hour)
		}
		return 200, said
	})
	rows("GET /v1/jobs", func(r *http.Request) (int, any) { return 200, dated("jobs", w.list(r, r.URL.Query().Get("state"))) })
	rows("GET /v1/dead", func(r *http.Request) (int, any) { return 200, dated("jobs", w.list(r, "dead")) })
	rows("GET /v1/jobs/{id}", func(r *http.Request) (int, any) { return w.job(r.PathValue("id")) })
	for verb, state := range map[string]string{"cancel": "cancelled", "retry": "ready"} {
		rows("POST /v1/jobs/{id}/"+verb, func(r *http.Request) (int, any) {
			w.note(r)
			for _, j := range w.jobs {
				if fmt.Sprint(j["id"]) == r.PathValue("id") {
					j["state"] = state
				}
			}
			return w.job(r.PathValue("id"))
		})
	}
	rows("POST /v1/jobs:release", func(r *http.Request) (int, any) {
		w.note(r)
		w.held = false
		return 200, object{"released": true, "restored_at": moment(-time.Hour)}
	})
	rows("POST /v1/dead/operations", func(r *http.Request) (int, any) {
		body := w.note(r)
		id := fmt.Sprint(body["id"])
		if w.done[id] == nil {
			w.done[id] = object{"id": id, "kind": body["kind"], "queue": body["queue"], "jobs": body["jobs"], "by": "bob", "begun_at": moment(0), "done": 0, "ended_at": nil}
		}
		return w.operate(id)
	})
	rows("POST /v1/dead/operations/{id}/resume", func(r *http.Request) (int, any) {
		w.note(r)
		return w.operate(r.PathValue("id"))
	})
	return w
}

// note notes a request, and returns its body.
func (w *work) note(r *http.Request) object {
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body)
	w.asked = append(w.asked, r.Method+" "+r.URL.Path+" "+string(encoded(body)))
	return body
}

func dated[T any](name string, v T) object { return object{"as_of": moment(0), name: v} }

func moment(from time.Duration) string {
	return time.Now().Add(from).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

func (w *work) cron(name string) (int, any) {
	for _, c := range w.crons {
		if c["name"] == name {
			one := object{"as_of": moment(0)}
			maps.Copy(one, c)
			one["gaps"] = []object{{"from": moment(-50 * time.Hour), "to": moment(-48 * time.Hour), "count": 3, "why": "late"}}
			return 200, one
		}
	}
	return http.StatusNotFound, "no cron is called so"
}

// list selects jobs as a request says.
func (w *work) list(r *http.Request, state string) []object {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	before, err := strconv.Atoi(q.Get("before"))
	found := []object{}
	for _, j := range w.jobs {
		if (state == "" || j["state"] == state) && (q.Get("queue") == "" || q.Get("queue") == j["queue"]) && (err != nil || j["id"].(int) < before) && len(found) < limit {
			found = append(found, j)
		}
	}
	return found
}

func (w *work) job(id string) (int, any) {
	for _, j := range w.jobs {
		if fmt.Sprint(j["id"]) == id {
			one := object{"as_of": moment(0), "args": object{"to": "a@example.com", "markup": hostile}}
			maps.Copy(one, j)
			if j["state"] == "dead" {
				one["attempts"] = []object{
					{"attempt": 1, "outcome": "failed", "worker": "worker/mail/1", "began_at": moment(-time.Hour), "ended_at": moment(-time.Hour + time.Second), "error": "connection refused"},
					{"attempt": 2, "outcome": "dead", "worker": "worker/mail/2", "began_at": moment(-time.Minute), "ended_at": moment(-time.Minute + 1500*time.Millisecond), "error": j["why"]},
				}
			}
			return 200, one
		}
	}
	return http.StatusNotFound, "there is no such job"
}

func (w *work) queues() []object {
	of := map[string]object{}
	all := []object{}
	for _, j := range w.jobs {
		name, state := fmt.Sprint(j["queue"]), fmt.Sprint(j["state"])
		if of[name] == nil {
			of[name] = object{"queue": name, "ready": 0, "later": 0, "waiting": 0, "taken": 0, "dead": 0, "oldest_ready_ms": 0}
			all = append(all, of[name])
		}
		if n, open := of[name][state].(int); open {
			of[name][state] = n + 1
		}
		if j["state"] == "ready" {
			since, _ := time.Parse(time.RFC3339Nano, fmt.Sprint(j["moment"]))
			age := 1000
			if time.Since(since) > 5*time.Minute {
				age = 600_000 // whatever the test takes
			}
			of[name]["oldest_ready_ms"] = max(of[name]["oldest_ready_ms"].(int), age)
		}
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a["queue"].(string), b["queue"].(string)) })
	return all
}

// operate carries an operation on by some dead jobs.
func (w *work) operate(id string) (int, any) {
	o := w.done[id]
	if o == nil {
		return http.StatusConflict, "the database does not know the operation"
	}
	named, _ := o["jobs"].([]any)
	left := w.step
	for _, j := range w.jobs {
		if j["state"] != "dead" || o["queue"] != nil && o["queue"] != j["queue"] || named != nil && !slices.Contains(named, any(float64(j["id"].(int)))) {
			continue
		}
		if left--; left < 0 {
			return http.StatusAccepted, shown(o)
		}
		j["state"] = map[any]string{"retry": "ready", "discard": "discarded"}[o["kind"]]
		o["done"] = o["done"].(int) + 1
	}
	o["ended_at"] = moment(0)
	return http.StatusOK, shown(o)
}

// shown leaves out what is not there.
func shown(o object) object {
	out := object{}
	for key, v := range o {
		if v != nil || key == "ended_at" {
			out[key] = v
		}
	}
	return out
}

// tellQueue tells those that watch how many jobs a queue has, as a node does once that has changed. It needs the lock.
func (w *work) tellQueue(name string) {
	for _, q := range w.queues() {
		if q["queue"] == name {
			q["as_of"] = moment(0)
			w.node.tell(w.node.said("job", q))
		}
	}
}

func campaigner(id string, leads int) object {
	return object{
		"id": id, "alive": true, "tombstoned": false, "here": id == "node-2", "version": "v1.2.3", "address": "10.0.0." + id[len(id)-1:] + ":7070", "settings": "4f00aa12bb34",
		"started": moment(-72 * time.Hour), "last_seen": moment(-5 * time.Second), "seen_age_ms": 5000, "scopes": 8, "leads": leads, "lease_ms": 3000, "takeover": "strict", "locks": "session", "lines_lost": 0,
	}
}

func cronOf(name, schedule string, ended ...string) object {
	past := []object{}
	for i, e := range ended {
		p := object{"at": moment(time.Duration(-i-1) * time.Hour), "outcome": "enqueued", "job": 4000 - i, "by_hand": false, "decided_at": moment(time.Duration(-i-1) * time.Hour)}
		switch e {
		case "skipped":
			p["outcome"] = "skipped"
		case "":
		default:
			p["ended"] = e
		}
		past = append(past, p)
	}
	c := object{
		"name": name, "schedule": schedule, "timezone": "Europe/Berlin", "handler": object{"command": []string{"/usr/bin/report", "--to", "a b"}}, "args": object{}, "catch_up": "none", "limit": 100, "late": "1m0s",
		"overlap": "skip", "waits": 1, "jitter": "0s", "timeout": "1h0m0s", "retries": 3, "queue": "default", "priority": 1, "fenced": false, "paused": false, "filed": true, "adopted": true,
		"since": moment(-240 * time.Hour), "by": "node-1", "settled_at": moment(-time.Minute), "last": nil,
		"next": []string{moment(320 * time.Second), moment(65 * time.Minute), moment(125 * time.Minute)}, "past": past,
	}
	if len(past) > 0 {
		c["last"] = past[0]
	}
	return c
}

func jobOf(id int, state, queue, why string) object {
	j := object{
		"id": id, "state": state, "attempt": 1, "queue": queue, "handler": object{"job": "send welcome"}, "priority": 1, "retries": 1, "timeout": "1h0m0s", "moment": moment(-30 * time.Second),
		"created_at": moment(-2 * time.Hour), "by": "app",
	}
	if why != "" {
		j["why"], j["attempt"] = why, 2
	}
	if state == "later" {
		j["moment"] = moment(time.Hour)
	}
	return j
}

// busy gives a node processes, crons and jobs that are all well.
func (n *node) busy() {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.work
	w.held = false
	w.processes = []object{campaigner("node-1", 3), campaigner("node-2", 3), campaigner("node-3", 2)}
	gone := campaigner("node-4", 0)
	gone["alive"], gone["last_seen"], gone["seen_age_ms"] = false, moment(-3*time.Hour), 10_800_000
	w.processes = append(w.processes, gone)
	w.findings = []object{
		{"check": "connection", "status": "ok", "detail": "the database answers in 0.4 ms", "remedy": ""},
		{"check": "clock", "status": "ok", "detail": "this machine's clock is 2 ms ahead of the database's", "remedy": ""},
		{"check": "grants", "status": "ok", "detail": "the node has the rights that it needs, and no others", "remedy": ""},
	}
	w.keys = []object{
		{"key": "node.instance_id", "value": "node-2", "from": "--id"}, {"key": "node.listen", "value": "127.0.0.1:7070", "from": "default"}, {"key": "node.ops_listen", "value": "", "from": "default"},
		{"key": "election.lease", "value": "3s", "from": "line 12"}, {"key": "roles[0].name", "value": "payments", "from": "line 14"}, {"key": "roles[0].scope", "value": "payments", "from": "line 14"},
		{"key": "roles[0].preferred", "value": "node-1, node-2", "from": "CONCH_PREFERRED"},
	}
	well := []string{"done", "done", "done", "done", "done", "done", "done", "done", "done", "done", "done", "done"}
	w.crons = []object{cronOf("cleanup", "@hourly", well...), cronOf("invoices", "0 6 1 * *", well[:3]...), cronOf("report", "0 9 * * MON-FRI", append([]string{""}, well[:9]...)...)}
	w.jobs = nil
	for i := range 40 {
		w.jobs = append(w.jobs, jobOf(5040-i, map[bool]string{true: "done", false: []string{"ready", "taken", "later"}[i%3]}[i > 12], []string{"default", "mail"}[i%2], ""))
	}
}

// troubled makes some of it need somebody.
func (n *node) troubled() {
	n.busy()
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.work
	w.processes[2]["settings"], w.processes[2]["version"] = "77c0ffee0000", "v1.3.0"
	w.processes[0]["lines_lost"] = 4096
	w.findings = append(w.findings,
		object{"check": "connections", "status": "fail", "detail": "97 of 100 connections of the server are taken, and a node needs 6", "remedy": "raise max_connections to 200, or say ALTER ROLE app CONNECTION LIMIT 60"},
		object{"check": "log", "status": "warn", "detail": "node-1 has lost 4,096 lines of its log at least", "remedy": "look at what reads its stderr, such as the journal, a pipe or a terminal, and at the room on that disk"})
	w.crons = append(w.crons, cronOf("billing:tenant-0000000000000000000000000000000042:month-end", "*/5 * * * *", "dead", "failed", "done", "done", "skipped", "done"), cronOf("mailer", "@every 90m", "skipped", "done"),
		cronOf("orphan", "0 * * * *", "done"), cronOf("paused", "0 * * * *", "done"))
	w.crons[5]["due_at"] = moment(-3 * time.Hour)
	w.crons[6]["paused"], w.crons[6]["next"] = true, []string{}
	for i := range 2345 {
		w.jobs = append(w.jobs, jobOf(4000-i, "dead", "mail", fmt.Sprintf("550 5.1.1 <user%d@example.com>: recipient address rejected: user unknown", i)))
	}
	w.jobs = append(w.jobs, jobOf(1600, "dead", "default", "exit status 3: "+hostile), jobOf(1599, "dead", "default", "signal: killed"))
	waits := jobOf(1500, "ready", "default", "")
	waits["moment"] = moment(-10 * time.Minute)
	w.jobs = append(w.jobs, waits)
}
