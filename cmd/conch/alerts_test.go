//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// pagers are PagerDuty and a channel of Slack, as those who are woken see them.
type pagers struct {
	*httptest.Server
	mu    sync.Mutex
	open  map[string]bool // incidents, by key
	begun map[string]int  // how many there were of a key
	texts []string
	held  chan struct{} // closed when a message is held; nil: none is to be
	over  chan struct{} // closed when that one may be answered
}

func newPagers(t *testing.T) *pagers {
	t.Helper()
	p := &pagers{open: map[string]bool{}, begun: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // its sender was killed
		}
		switch r.URL.Path {
		case "/v2/enqueue":
			p.page(t, out, body)
		case "/slack":
			var m struct{ Text string }
			if err := json.Unmarshal(body, &m); err != nil {
				t.Errorf("Slack is sent %s", body)
			}
			p.mu.Lock()
			p.texts = append(p.texts, m.Text)
			p.mu.Unlock()
			_, _ = io.WriteString(out, "ok")
		}
	}))
	t.Cleanup(p.Close)
	t.Cleanup(func() { p.release() })
	return p
}

func (p *pagers) page(t *testing.T, out http.ResponseWriter, body []byte) {
	var e struct {
		Action string `json:"event_action"`
		Key    string `json:"dedup_key"`
		Secret string `json:"routing_key"`
	}
	parts := []string{}
	if err := json.Unmarshal(body, &e); err == nil {
		parts = strings.Split(e.Key, "/")
	}
	if len(parts) < 4 || parts[0] != "conch" || parts[1] != "prod" || e.Secret != "a routing key" {
		t.Errorf("PagerDuty is sent %s", body)
		return
	}
	fires := e.Action == "trigger"
	p.mu.Lock()
	if fires && !p.open[e.Key] {
		p.begun[e.Key]++
	}
	p.open[e.Key] = fires
	over := p.over
	if p.held != nil && fires {
		close(p.held)
		p.held = nil
	} else {
		over = nil
	}
	p.mu.Unlock()
	if over != nil {
		<-over // its sender may be dead by then
	}
	out.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(out, `{"status":"success","message":"Event processed","dedup_key":"x"}`)
}

// hold has the next incident taken, and not answered until release is called.
func (p *pagers) hold() (held <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.over = make(chan struct{}), make(chan struct{})
	return p.held
}

func (p *pagers) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		close(p.over)
	}
	p.held, p.over = nil, nil
}

// ruleOf returns the rule in a key.
func ruleOf(key string) string {
	parts := strings.Split(key, "/")
	return parts[len(parts)-2]
}

// is reports whether an incident of a rule is open, and how many there were.
func (p *pagers) is(rule string) (open bool, begun int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, n := range p.begun {
		if ruleOf(key) == rule {
			open, begun = open || p.open[key], begun+n
		}
	}
	return open, begun
}

// said counts the texts with all words.
func (p *pagers) said(words ...string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.texts {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			n++
		}
	}
	return n
}

// nothingElse checks that nothing was told but of some rules.
func (p *pagers) nothingElse(t *testing.T, rules ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, n := range p.begun {
		if !slices.Contains(rules, ruleOf(key)) {
			t.Errorf("%d incidents of %s were told", n, key)
		}
	}
	for _, text := range p.texts {
		if len(rules) == 0 {
			t.Errorf("it was said: %s", text)
		}
	}
}

// told are the sections of a node whose alerts are told to them, under the names that the seed has.
func (p *pagers) told(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "a routing key", "slack": p.URL + "/slack"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("[alerting]\ncluster = \"prod\"\ninterval = \"1s\"\n"+
		"[[notify]]\nname = \"pagerduty\"\nkind = \"pagerduty\"\nurl = %q\nrouting_key_file = %q\n[[notify]]\nname = \"slack:#ops\"\nkind = \"slack\"\nurl_file = %q\n",
		p.URL, filepath.Join(dir, "key"), filepath.Join(dir, "slack")) + more
}

// evaluation is the number of the last one, and the node that has evaluated.
func evaluation(t *testing.T, conn *pgx.Conn) (n int64, node string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `SELECT n, node FROM conch.alert_evaluation`).Scan(&n, &node); err != nil {
		t.Fatal(err)
	}
	return n, node
}

// evaluates waits for so many evaluations more, by another node than one that is gone.
func evaluates(t *testing.T, conn *pgx.Conn, more int64, gone string) {
	t.Helper()
	from, _ := evaluation(t, conn)
	pgtest.Eventually(t, 3*patience, "alerts are evaluated", func() bool {
		n, node := evaluation(t, conn)
		return n >= from+more && node != gone
	})
}

// player reports as a node does: that the files of one of its scopes are behind, counted from 1, and so many failovers each half second.
type player struct{ behind, failovers atomic.Int64 }

// plays has a node of its own with some scopes report what a test has it say.
func plays(t *testing.T, url string, conn *pgx.Conn, scopes int) *player {
	t.Helper()
	var hash string
	if err := conn.QueryRow(t.Context(), `SELECT hash FROM conch.alert_nodes LIMIT 1`).Scan(&hash); err != nil {
		t.Fatal(err)
	}
	store, err := pgstore.Open(t.Context(), pg.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	p, stop := new(player), make(chan struct{})
	var plays sync.WaitGroup
	t.Cleanup(func() { close(stop); plays.Wait(); store.Close() })
	series := []sample.Series{{Name: "conch_leader_failovers_total", Labels: []sample.Label{{Name: "scope", Value: "played"}}}}
	for i := range scopes {
		series = append(series, sample.Series{Name: "conch_files_behind", Labels: []sample.Label{{Name: "peer", Value: "n9"}, {Name: "scope", Value: fmt.Sprint("played-", i+1)}}})
	}
	set := sample.NewSet(series)
	plays.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		var w sample.Writer
		for seq := uint64(1); ; seq++ {
			values := make([]float64, len(series))
			if values[0] = float64(seq * uint64(p.failovers.Load())); p.behind.Load() > 0 {
				values[p.behind.Load()] = 1
			}
			body := w.WriteBody(set, values)
			_, _ = store.Report(t.Context(), alerts.Report{Node: alerts.Node{Name: "played", Life: "l", Seq: seq, Hash: hash}, Body: body, Keep: time.Hour}) // the next one comes soon
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	})
	return p
}

const alertRoles = "[election]\nlease = \"3s\"\n[[roles]]\nname = \"scheduler\"\n"

// The two alerts of the seed, word for word (F9, S33): a healthy cluster of three tells nothing; each alert fires when it is true and reaches the receiver that it names, once.
func TestTheSeedsAlertsFire(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, p := migrated(t), newPagers(t)
	conn := db.Connect(t)
	seeds := p.told(t, `[[alerts]]
name = "no_scheduler_leader"
condition = "sum(forge_leader_is_leader{role='scheduler'}) == 0"
for = "30s"
severity = "critical"
notify = ["pagerduty"]

[[alerts]]
name = "frequent_failovers"
condition = "rate(forge_leader_failovers_total[5m]) > 5"
severity = "warning"
notify = ["slack:#ops"]
`)
	nodes := map[string]*daemon{}
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes[id] = startDaemon(t, id, db.URL, alertRoles+seeds)
	}
	evaluates(t, conn, 20, "")
	p.nothingElse(t)

	all := func(roles string) {
		t.Helper()
		for _, n := range nodes {
			n.write(fileOf(db.URL, roles+seeds))
			conch(t, "reload", "--config", n.file).done(t)
		}
	}
	all(alertRoles + "never = [\"n1\", \"n2\", \"n3\"]\n")
	conch(t, "--db", db.URL, "drain", "--scope", "scheduler").done(t)
	plays(t, db.URL, conn, 0).failovers.Store(1000)
	pgtest.Eventually(t, 3*patience, "the channel is told", func() bool { return p.said("FIRING", "frequent_failovers") > 0 })
	pgtest.Eventually(t, 3*patience, "somebody is woken", func() bool { open, _ := p.is("no_scheduler_leader"); return open })
	all(alertRoles)
	pgtest.Eventually(t, 8*patience, "it is over, five minutes after it was told", func() bool { open, _ := p.is("no_scheduler_leader"); return !open })
	if _, n := p.is("no_scheduler_leader"); n != 1 {
		t.Errorf("it was %d incidents, want one", n)
	}
	if n := p.said("FIRING", "frequent_failovers"); n != 1 {
		t.Errorf("it was said %d times, want once", n)
	}
	p.nothingElse(t, "no_scheduler_leader", "ConchNobodyLeads", "ConchFlapping")
	if failed := evaluatorFaults(nodes); failed != "" {
		t.Errorf("the evaluator says %s", failed)
	}
}

// evaluatorFaults returns what nodes could not do for alerts.
func evaluatorFaults(nodes map[string]*daemon) (all string) {
	for id, n := range nodes {
		for line := range strings.Lines(n.text()) {
			if strings.Contains(line, "alerts: cannot evaluate") || strings.Contains(line, "alerts: cannot read a sample") {
				all += id + ": " + line
			}
		}
	}
	return all
}

// F9, S33: the evaluator is killed, each second time between the receiver's taking of a message and its note. Each alert is one incident all the same, none is left open, no text
// comes more than twice, and nothing is told that is not true.
func TestOneIncidentHoweverOftenTheEvaluatorDies(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, p, rounds := migrated(t), newPagers(t), runtest.ByDay(4, 200)
	conn := db.Connect(t)
	file := alertRoles + p.told(t, "[[alerts]]\nname = \"played\"\ncondition = 'conch_files_behind{scope=~\"played-.*\"} > 0'\nseverity = \"critical\"\ngroup_by = [\"scope\"]\n")
	nodes := map[string]*daemon{}
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes[id] = startDaemon(t, id, db.URL, file)
	}
	evaluates(t, conn, 3, "")
	player := plays(t, db.URL, conn, rounds)
	evaluates(t, conn, 3, "")
	for round := range rounds {
		held, texts := p.hold(), p.said("FIRING", "played")
		player.behind.Store(int64(round) + 1)
		happens(t, "somebody is woken", held)
		if round%2 == 1 { // it is answered, and noted
			p.release()
			pgtest.Eventually(t, patience, "the channel is told", func() bool { return p.said("FIRING", "played") > texts })
		}
		_, leader := evaluation(t, conn)
		nodes[leader].stop(syscall.SIGKILL)
		p.release()
		evaluates(t, conn, 2, leader)
		started := nodes[leader].count("node started")
		nodes[leader].start()
		pgtest.Eventually(t, patience, "the node is back", func() bool { return nodes[leader].count("node started") > started })
	}
	player.behind.Store(0)
	pgtest.Eventually(t, 8*patience, "all of it is over, five minutes after it was told, and nothing is in doubt", func() bool {
		open, _ := p.is("played")
		var left int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.alert_tellings WHERE asked OR doubt`).Scan(&left)
		return err == nil && left == 0 && !open
	})
	p.mu.Lock()
	for key, n := range p.begun {
		if n != 1 {
			t.Errorf("%s was %d incidents", key, n)
		}
	}
	p.mu.Unlock()
	if _, n := p.is("played"); n != rounds {
		t.Errorf("%d incidents of %d alerts", n, rounds)
	}
	for i := range rounds {
		if n := p.said("FIRING", fmt.Sprintf("scope=%q", fmt.Sprint("played-", i+1))); n < 1 || n > 2 {
			t.Errorf("alert %d was said %d times, want once or twice", i+1, n)
		}
	}
	p.nothingElse(t, "played", "ConchFlapping") // which is true: the killed nodes led the scheduler, too
}

// S33: the database is away for a while. All nodes tell that under one key, two of them texts, and the evaluator alone ends it.
func TestTheDatabaseIsAwayForAlerts(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server, p := pgtest.Own(t, postmaster.Config{}), newPagers(t)
	url := server.URL("postgres")
	conch(t, "--db", url, "migrate", "up").done(t)
	file := alertRoles + p.told(t, "")
	for _, id := range []string{"n1", "n2", "n3"} {
		startDaemon(t, id, url, file)
	}
	evaluates(t, pgtest.Connect(t, pg.Config{URL: url}), 3, "")
	p.nothingElse(t)
	server.Kill9()
	pgtest.Eventually(t, 3*patience, "somebody is woken", func() bool { open, _ := p.is(alerts.AwayRule); return open })
	pgtest.Eventually(t, patience, "the channel is told", func() bool { return p.said("FIRING", "cannot ask the database") > 0 })
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 3*patience, "it is over", func() bool {
		open, _ := p.is(alerts.AwayRule)
		return !open && p.said("RESOLVED", "cannot ask the database") > 0
	})
	if _, n := p.is(alerts.AwayRule); n != 1 {
		t.Errorf("it was %d incidents, want one", n)
	}
	if n := p.said("FIRING", "cannot ask the database"); n > 2 {
		t.Errorf("it was said %d times, want two at most", n)
	}
	p.nothingElse(t, alerts.AwayRule)
}

// S18, S33: a node without a database evaluates the alerts with each_node over itself, and tells them under a key with its name. A receiver can be tried there.
func TestANodeWithoutADatabaseTells(t *testing.T) {
	t.Parallel()
	p := newPagers(t)
	n := prepareDaemon(t, "n1", "", "")
	n.write("[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n[[roles]]\nname = \"scheduler\"\n" + p.told(t, `[[alerts]]
name = "alone"
condition = "conch_is_leader == 1"
each_node = true
[[alerts]]
name = "together"
condition = "conch_is_leader == 1"
`))
	n.start().says("node started")
	pgtest.Eventually(t, patience, "both are told", func() bool {
		open, _ := p.is("alone")
		return open && p.said("FIRING", "alone", `instance="n1"`) > 0
	})
	p.mu.Lock()
	for key := range p.begun {
		if !strings.HasPrefix(key, "conch/prod/n1/alone/") {
			t.Errorf("the key is %s, want one with the node's name", key)
		}
	}
	p.mu.Unlock()
	api := "http://" + n.value("serving the API", "address")
	if out := conch(t, "alerts", "test", "slack:#ops", "--node", api).done(t); !strings.Contains(out, "slack:#ops has taken the message") {
		t.Errorf("it prints %q", out)
	}
	conch(t, "alerts", "test", "nobody", "--node", api).refused(t, 1, "nobody")
	p.nothingElse(t, "alone")
	if p.said("TEST") != 1 || p.said("together") != 0 {
		t.Error("the channel was told something else")
	}
}
