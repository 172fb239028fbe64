package pgops_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// cast does each operation as the role that deploy/grants.sql has for it.
type cast struct{ pgtest.Cast }

func granted(t *testing.T) cast { t.Helper(); return cast{pgtest.Granted(t, pgtest.New(t))} }

// groups are the operations that operations runs together, with what they need first.
var groups = map[string][]string{
	"look":    {"node: check", "node: status", "node: history", "observer: check", "observer: status", "observer: history", "observer: leader_heartbeat"},
	"request": {"node: ask", "node: read commands", "node: take a command", "node: answer a command"},
	"depose":  {"node: beat by process", "node: depose"},
	"lead":    {"node: register", "node: stay registered", "node: enlist", "node: bid", "node: beat", "node: fence", "fence: fence"},
	"evict":   {"node: part", "node: evict", "node: explain", "observer: explain"},
}

// operations runs the operations of a group once, or all if the group is empty, each as its role,
// and returns those that failed. An operation that cannot begin because another one failed does not
// count as failed.
func (c cast) operations(t *testing.T, scope, group string) map[string]error {
	t.Helper()
	does := func(g string) bool { return group == "" || group == g }
	failed := map[string]error{}
	try := func(name string, err error) bool {
		if err != nil {
			failed[name] = err
		}
		return err == nil
	}
	node := pgmint.Config{URL: c.As(t, c.Node)}
	if does("look") {
		try("node: check", pgmint.Check(t.Context(), node))
		c.look(t, "node", c.Node, scope, try)
		c.look(t, "observer", c.Observer, scope, try)
	}
	if does("request") {
		c.request(t, scope, try)
	}
	if does("lead") || does("evict") {
		c.lead(t, node, scope, does("evict"), try)
	}
	if does("depose") {
		c.depose(t, node, scope+"/deposed", try)
	}
	return failed
}

// lead campaigns, leads and fences; then, if evicts is set, it lets a successor end a transaction.
func (c cast) lead(t *testing.T, node pgmint.Config, scope string, evicts bool, try func(string, error) bool) {
	t.Helper()
	m := newMint(t, node.URL)
	candidate := mint.Candidate{ID: "a", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{scope}}
	a, err := m.Open(t.Context(), candidate)
	if !try("node: register", err) {
		// Without a session the rest is not reached. The fence is tried with a token of no term.
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return
	}
	defer func() { _ = a.Close() }()
	_, err = pgtest.Connect(t, pg.Config{URL: node.URL}).Exec(t.Context(), `UPDATE conch.process SET last_seen = clock_timestamp() WHERE process_key = $1`, a.Process())
	try("node: stay registered", err)
	try("node: enlist", a.Enlist(t.Context(), mint.Roll{Add: []string{"another"}, Withdraw: []string{"other"}, Longest: unhurried}))
	won, err := a.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: unhurried}})
	if !try("node: bid", err) {
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return
	}
	token := won[0].Token
	_, err = a.Beat(t.Context(), []mint.Pulse{{Token: token, Settle: true}})
	try("node: beat", err)
	c.fenced(t, token, try)
	trimmer, err := pgops.OpenTrimmer(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	defer trimmer.Close()
	_, err = trimmer.Trim(t.Context(), token, time.Now().Add(-time.Hour), 0)
	try("node: trim the history", err)
	if evicts {
		c.evict(t, m, a, token, try)
	}
}

// depose leads by a process key, loses the session, and lets the next candidate take over.
func (c cast) depose(t *testing.T, node pgmint.Config, scope string, try func(string, error) bool) {
	t.Helper()
	node.Locks = pgmint.ProcessLocks
	m := mintWith(t, node)
	open := func(id string) mint.Session {
		s, err := m.Open(t.Context(), mint.Candidate{ID: id, Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{scope}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first, second := open("first"), open("second")
	won, err := first.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: unhurried}})
	if err != nil {
		return // lead counts it
	}
	_, err = first.Beat(t.Context(), []mint.Pulse{{Token: won[0].Token}})
	try("node: beat by process", err)
	minttest.End(t, c.DB, first)
	_, err = second.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: unhurried}})
	try("node: depose", err)
}

// look reads what `conch status`, `history` and `watch` read.
func (c cast) look(t *testing.T, who, role, scope string, try func(string, error) bool) {
	t.Helper()
	o, err := pgops.Observe(t.Context(), pgmint.Config{URL: c.As(t, role)})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	_, err = o.Scopes(t.Context(), scope)
	try(who+": status", err)
	_, err = o.History(t.Context(), scope, 1)
	try(who+": history", err)
	if role != c.Observer {
		return
	}
	try(who+": check", pgmint.Check(t.Context(), pgmint.Config{URL: c.As(t, role)}))
	_, err = pgtest.Connect(t, pg.Config{URL: c.As(t, role)}).Exec(t.Context(), `SELECT provider_id, instance_id, last_seen FROM conch.leader_heartbeat`)
	try(who+": leader_heartbeat", err)
}

// request does the statements of pgops.Ask and pgops.Obey.
func (c cast) request(t *testing.T, scope string, try func(string, error) bool) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Node)})
	var id int64
	err := conn.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms) VALUES ($1, 0, 'drain', 'test', 1) RETURNING id`, scope).Scan(&id)
	try("node: ask", err)
	_, err = conn.Exec(t.Context(), `SELECT id, verb FROM conch.command WHERE state IN ('asked', 'warm') AND scope = $1`, scope)
	try("node: read commands", err)
	_, err = conn.Exec(t.Context(), `UPDATE conch.command SET state = 'taken' WHERE id = $1 AND state IN ('asked', 'warm')`, id)
	try("node: take a command", err)
	_, err = conn.Exec(t.Context(), `UPDATE conch.command SET state = 'done', result = '', done_at = clock_timestamp() WHERE id = $1`, id)
	try("node: answer a command", err)
}

// fenced calls the fence as each of the two roles that may.
func (c cast) fenced(t *testing.T, token fence.Token, try func(string, error) bool) {
	t.Helper()
	for who, role := range map[string]string{"node: fence": c.Node, "fence: fence": c.Fence} {
		err := pgfence.Fence(t.Context(), pgtest.Connect(t, pg.Config{URL: c.As(t, role)}), token)
		if !errors.Is(err, fence.ErrStale) || token.Term != (fence.Token{}).Term {
			try(who, err)
		}
	}
}

// evict leaves a fenced transaction open, gives the scope up, and lets the next candidate
// end that transaction.
func (c cast) evict(t *testing.T, m *pgmint.Mint, a mint.Session, token fence.Token, try func(string, error) bool) {
	t.Helper()
	blocker := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)})
	tx, err := blocker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if pgfence.Fence(t.Context(), tx, token) != nil {
		return // fenced has counted it
	}
	_, err = a.Release(t.Context(), []mint.Farewell{{Token: token, Reason: "test"}})
	if !try("node: part", err) {
		return
	}
	b, err := m.Open(t.Context(), mint.Candidate{ID: "b", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{token.Scope}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	next, err := b.Try(t.Context(), []mint.Bid{{Scope: token.Scope, Lease: time.Millisecond, Block: 50 * time.Millisecond, Evict: true}})
	if err == nil && len(next[0].Blockers) != 1 {
		err = fmt.Errorf("evicted %v", next[0].Blockers)
	} else if err == nil && !next[0].Blockers[0].Ended {
		err = errors.New(next[0].Blockers[0].What)
	}
	try("node: evict", err)
	c.explain(t, b, token.Scope, try)
}

// explain locks the row of a scope, and asks which obstacle there is.
func (c cast) explain(t *testing.T, s mint.Session, scope string, try func(string, error) bool) {
	t.Helper()
	run(t, c.DB.Connect(t), `UPDATE conch.leadership SET parted_at = pg_catalog.clock_timestamp() WHERE scope OPERATOR(pg_catalog.=) $1`, scope)
	stranger, err := c.DB.Connect(t).Begin(t.Context())
	if err == nil {
		_, err = stranger.Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope OPERATOR(pg_catalog.=) $1 FOR UPDATE`, scope)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Rollback(t.Context()) }()
	r, err := s.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: unhurried, Explain: true}})
	if err == nil && r[0].Outcome != mint.Locked {
		err = fmt.Errorf("a locked row: %+v", r[0])
	}
	try("node: explain", err)
	o, err := pgops.Observe(t.Context(), pgmint.Config{URL: c.As(t, c.Observer)})
	if err != nil {
		try("observer: explain", err)
		return
	}
	defer o.Close()
	all, err := o.Scopes(t.Context(), scope)
	if err == nil && all[0].Obstacle == "" {
		err = fmt.Errorf("a locked row: %+v", all[0])
	}
	try("observer: explain", err)
}
