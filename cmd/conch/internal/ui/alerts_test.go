package ui_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// bells is what a stand-in says of alerts. The node's lock guards it.
type bells struct {
	alerts    []object
	silences  []object
	rules     []object
	receivers []object
	judged    object // the last evaluation; nil: there was none
	none      bool   // the node has no alerts
	tries     object // what a test of a receiver gives
	asked     []string
}

func (n *node) serveAlerts(api func(path string, serve func(w http.ResponseWriter, r *http.Request))) {
	n.quiet()
	of := func(path string, serve func(r *http.Request) (int, any)) {
		api(path, func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if r.Method == http.MethodPost {
				var body object
				_ = json.NewDecoder(r.Body).Decode(&body)
				n.bells.asked = append(n.bells.asked, r.URL.EscapedPath()+" "+string(encoded(body)))
				r = r.WithContext(r.Context())
				r.Body = http.NoBody
			}
			switch {
			case n.bells.none:
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write(encoded(object{"type": "urn:conch:problem:no-alerts", "title": "No alerts", "status": 404, "detail": "this node has no [alerting]"}))
			case !n.awaySince.IsZero() && !strings.HasSuffix(path, "/test"):
				refuse(w, http.StatusServiceUnavailable, "connection refused")
			default:
				status, said := serve(r)
				if why, refused := said.(string); refused {
					refuse(w, status, why)
					return
				}
				answer(w, said)
			}
		})
	}
	of("GET /v1/alerts", func(r *http.Request) (int, any) {
		return 200, n.bells.list(r.URL.Query().Get("state"), r.URL.Query().Get("limit"))
	})
	of("GET /v1/silences", func(*http.Request) (int, any) { return 200, dated("silences", n.bells.silences) })
	of("POST /v1/silences", func(*http.Request) (int, any) { return 200, n.bells.silence() })
	of("POST /v1/silences/{id}/end", func(r *http.Request) (int, any) {
		for _, s := range n.bells.silences {
			if s["id"] == r.PathValue("id") {
				s["state"], s["until"], s["alerts"] = "ended", moment(0), 0
				return 200, with(s, "as_of", moment(0))
			}
		}
		return http.StatusNotFound, "there is no such silence"
	})
	of("POST /v1/receiver/test", func(*http.Request) (int, any) { return 200, n.bells.tries })
}

func with(o object, key string, v any) object {
	out := maps.Clone(o)
	out[key] = v
	return out
}

func (b *bells) list(state, limit string) object {
	counts, found, most := object{"firing": 0, "silenced": 0, "pending": 0, "resolved": 0}, []object{}, 200
	_, _ = fmt.Sscan(limit, &most) // without one it is the usual one
	for _, a := range b.alerts {
		counts[a["state"].(string)] = counts[a["state"].(string)].(int) + 1
		if (state == "" || state == a["state"]) && len(found) < most {
			found = append(found, a)
		}
	}
	said := object{"as_of": moment(0), "evaluation": nil, "counts": counts, "alerts": found, "rules": b.rules, "receivers": b.receivers}
	if b.judged != nil {
		said["evaluation"] = b.judged
	}
	return said
}

// silence is what the last request has asked for: it silences what has its rule.
func (b *bells) silence() object {
	_, text, _ := strings.Cut(b.asked[len(b.asked)-1], " ")
	var body object
	_ = json.Unmarshal([]byte(text), &body)
	s := object{"id": body["id"], "state": "active", "matchers": body["matchers"], "since": moment(0), "until": moment(2 * time.Hour), "by": "bob", "comment": body["comment"], "alerts": 1}
	b.silences = append([]object{s}, b.silences...)
	for _, a := range b.alerts {
		if strings.Contains(text, fmt.Sprintf("%q", a["rule"])) {
			a["state"], a["silence"], a["silenced"], a["firing"] = "silenced", s["id"], a["firing"], 0
		}
	}
	return with(s, "as_of", moment(0))
}

func ruleOf(name, severity, condition string) object {
	return object{"rule": name, "severity": severity, "condition": condition, "for": "30s", "builtin": true, "receivers": []string{"pagerduty", "slack:#ops"}, "trouble": nil}
}

func alertOf(rule, severity, state, summary string, since time.Duration, labels object, told ...object) object {
	a := object{
		"key": "conch/prod-eu/" + rule + "/0011223344556677", "rule": rule, "severity": severity, "state": state, "labels": labels, "summary": summary, "since": moment(-since), "until": nil,
		"firing": 0, "silenced": 0, "pending": 0, "members": []object{{"labels": labels, "value": "0", "state": state, "since": moment(-since)}}, "others": 0, "tellings": append([]object{}, told...),
	}
	switch state {
	case "pending":
		a["pending"], a["fires_at"] = 1, moment(2*time.Minute-since)
	case "resolved":
		a["firing"], a["until"] = 1, moment(-since+4*time.Minute)
	default:
		a[state] = 1
	}
	return a
}

func telling(receiver, state, knows string, ago time.Duration, why string) object {
	t := object{"receiver": receiver, "state": state, "knows": knows, "at": nil}
	if ago > 0 {
		t["at"] = moment(-ago)
	}
	if why != "" {
		t["why"] = why
	}
	return t
}

// quiet is a cluster in which nothing fires.
func (n *node) quiet() {
	receiver := func(name, kind string) object {
		return object{"receiver": name, "kind": kind, "told_at": moment(-26 * time.Hour), "waiting": 0}
	}
	n.bells = bells{
		alerts: []object{}, silences: []object{}, tries: object{"receiver": "slack:#ops", "answer": "taken", "took_ms": 180},
		judged: object{"at": moment(-4 * time.Second), "age_ms": 4000, "node": "node-1", "interval_ms": 15_000, "late": false},
		rules: []object{
			ruleOf("ConchNobodyLeads", "critical", "sum by (scope) (conch_is_leader) == 0 or max by (scope) (conch_leaderless_seconds) > 0"), ruleOf("ConchDatabaseAway", "warning", "conch_database_up == 0"),
			ruleOf("ConchRoleFails", "warning", "sum by (scope) (increase(conch_role_failures_total[10m])) > 2"), ruleOf("too_many_failovers", "warning", "increase(conch_leader_failovers_total[5m]) > 5"),
		},
		receivers: []object{receiver("pagerduty", "pagerduty"), receiver("slack:#ops", "slack"), {"receiver": "outside", "kind": "heartbeat", "told_at": moment(-20 * time.Second), "waiting": 0}},
	}
}

// rings has alerts be well, in trouble, or not there.
func (n *node) rings(is string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet()
	b := &n.bells
	switch is {
	case "empty":
		b.judged, b.receivers = nil, []object{}
	case "well":
		b.alerts = []object{alertOf("ConchRoleFails", "warning", "resolved", "the role of mailer has failed 3 times in ten minutes", 26*time.Hour, object{"scope": "mailer"}, telling("slack:#ops", "told", "resolved", 25*time.Hour, ""))}
	case "trouble":
		const refused = "it answers 403 Forbidden: invalid_token"
		flock := alertOf("too_many_failovers", "warning", "firing", "payments has changed hands 7 times in five minutes, and 13 more", 3*time.Minute, object{},
			telling("pagerduty", "doubted", "nothing", 0, "it did not answer within 10 s"), telling("slack:#ops", "waiting", "nothing", 0, ""))
		members := []object{}
		for i := range 10 {
			members = append(members, object{"labels": object{"scope": fmt.Sprintf("tenant-%05d/billing", i)}, "value": "7", "state": "firing", "since": moment(-3 * time.Minute)})
		}
		flock["firing"], flock["members"], flock["others"] = 14, members, 4
		leaderless := alertOf("ConchNobodyLeads", "critical", "firing", "nobody leads scheduler", 9*time.Minute, object{"scope": "scheduler"}, telling("pagerduty", "told", "firing", 8*time.Minute, ""), telling("slack:#ops", "failing", "nothing", 0, refused))
		leaderless["description"] = "conch status names the obstacle, and conch doctor the remedy: see 'nobody leads' in docs/operations.md."
		hushed := alertOf("ConchRoleFails", "warning", "silenced", "the role of mailer has failed 4 times in ten minutes", time.Hour, object{"scope": "mailer"}, telling("pagerduty", "spared", "nothing", 0, ""), telling("slack:#ops", "told", "firing", time.Hour, ""))
		hushed["silence"] = "5a11ce00-0000-4000-8000-000000000001"
		b.alerts = []object{
			leaderless, flock, hushed,
			alertOf("ConchDatabaseAway", "warning", "pending", "the database does not answer node-3", 40*time.Second, object{"instance": "node-3"}),
			alertOf("ConchNobodyLeads", "critical", "resolved", "nobody leads importer", 5*time.Hour, object{"scope": "importer"}, telling("pagerduty", "told", "resolved", 4*time.Hour, ""), telling("slack:#ops", "told", "resolved", 4*time.Hour, "")),
		}
		b.silences = []object{
			{"id": hushed["silence"], "state": "active", "matchers": []object{{"label": "alertname", "op": "=", "value": "ConchRoleFails"}, {"label": "scope", "op": "=~", "value": "mailer|importer"}}, "since": moment(-time.Hour), "until": moment(3 * time.Hour), "by": "alice", "comment": "the mail server moves tonight, INC-4711", "alerts": 1},
			{"id": "5a11ce00-0000-4000-8000-000000000002", "state": "ended", "matchers": []object{{"label": "severity", "op": "=", "value": "info"}}, "since": moment(-50 * time.Hour), "until": moment(-48 * time.Hour), "by": "bob", "comment": "certificates are renewed", "alerts": 0},
		}
		b.rules[3]["trouble"] = object{"since": moment(-20 * time.Minute), "no_data": true}
		b.receivers[1]["why"], b.receivers[1]["failed_at"], b.receivers[1]["waiting"], b.receivers[0]["waiting"] = refused, moment(-10*time.Second), 2, 1
	}
	n.tellAlerts()
}

// tellAlerts tells those that watch how many alerts each rule has, as a node does once that has changed. It needs the lock.
func (n *node) tellAlerts() {
	for _, r := range n.bells.rules {
		mine := bells{alerts: slices.DeleteFunc(slices.Clone(n.bells.alerts), func(a object) bool { return a["rule"] != r["rule"] })}
		n.tell(n.said("alert", object{"as_of": moment(0), "rule": r["rule"], "severity": r["severity"], "counts": mine.list("", "")["counts"]}))
	}
}
