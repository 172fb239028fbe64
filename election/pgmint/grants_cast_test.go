package pgmint_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// cast are the three roles of deploy/grants.sql. Roles belong to the whole server,
// so each database has some of its own.
type cast struct {
	db                    *pgtest.DB
	node, fence, observer string
}

func granted(t *testing.T) cast {
	t.Helper()
	db := pgtest.New(t)
	c := cast{db: db, node: db.Name + "_Node", fence: db.Name + "_fence", observer: db.Name + "_observer"}
	c.script(t)
	admin := db.Connect(t)
	for _, role := range []string{c.node, c.fence, c.observer} {
		run(t, admin, fmt.Sprintf(`ALTER ROLE %q LOGIN`, role))
	}
	return c
}

// script runs deploy/grants.sql as its users do.
func (c cast) script(t *testing.T) {
	t.Helper()
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin, "psql")
	if _, err := os.Stat(psql); err != nil {
		if psql, err = exec.LookPath("psql"); err != nil {
			t.Skip("deploy/grants.sql is a script for psql, which is not beside the server's programs")
		}
	}
	cmd := exec.CommandContext(t.Context(), psql, "-X", "-q", c.db.URL, "-v", "node="+c.node, "-v", "fence="+c.fence,
		"-v", "observer="+c.observer, "-f", filepath.FromSlash("../../deploy/grants.sql"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("deploy/grants.sql: %v\n%s", err, out)
	}
}

func (c cast) as(t *testing.T, role string) string {
	t.Helper()
	u, err := url.Parse(c.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// operations runs everything once under exactly the roles, and says what failed.
// What cannot begin without another operation is not counted as failed.
func (c cast) operations(t *testing.T, scope string) map[string]error {
	t.Helper()
	failed := map[string]error{}
	try := func(name string, err error) bool {
		if err != nil {
			failed[name] = err
		}
		return err == nil
	}
	node := pgmint.Config{URL: c.as(t, c.node)}
	try("node: check", pgmint.Check(t.Context(), node))
	c.look(t, "node", c.node, scope, try)
	c.look(t, "observer", c.observer, scope, try)
	c.command(t, scope, try)

	m := newMint(t, node.URL)
	candidate := election.Candidate{ID: "a", Lease: unhurried, Longest: unhurried, Takeover: election.Strict, Scopes: []string{scope}}
	a, err := m.Open(t.Context(), candidate)
	if !try("node: register", err) {
		// What needs a session is not reached; the fence is asked with a token of nobody.
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return failed
	}
	defer func() { _ = a.Close() }()
	_, err = pgtest.Connect(t, pg.Config{URL: node.URL}).Exec(t.Context(), `UPDATE conch.process SET last_seen = clock_timestamp() WHERE process_key = $1`, a.Process())
	try("node: stay registered", err)
	try("node: enlist", a.Enlist(t.Context(), election.Roll{Add: []string{"another"}, Withdraw: []string{"other"}, Longest: unhurried}))
	won, err := a.Try(t.Context(), []election.Bid{{Scope: scope, Lease: unhurried}})
	if !try("node: bid", err) {
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return failed
	}
	token := won[0].Token
	_, err = a.Beat(t.Context(), []election.Pulse{{Token: token, Settle: true}})
	try("node: beat", err)
	c.fenced(t, token, try)
	c.depose(t, node, scope+"/deposed", try)
	c.evict(t, m, a, token, try)
	return failed
}

// depose leads by a process key, loses the key, and lets the next candidate take over.
func (c cast) depose(t *testing.T, node pgmint.Config, scope string, try func(string, error) bool) {
	t.Helper()
	node.Locks = pgmint.ProcessLocks
	m := mintWith(t, node)
	open := func(id string) election.Session {
		s, err := m.Open(t.Context(), election.Candidate{ID: id, Lease: unhurried, Longest: unhurried, Takeover: election.Strict, Scopes: []string{scope}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first, second := open("first"), open("second")
	won, err := first.Try(t.Context(), []election.Bid{{Scope: scope, Lease: unhurried}})
	if err != nil {
		return // has been counted
	}
	_, err = first.Beat(t.Context(), []election.Pulse{{Token: won[0].Token}})
	try("node: beat by process", err)
	if err := pgmint.UnlockAll(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	_, err = second.Try(t.Context(), []election.Bid{{Scope: scope, Lease: unhurried}})
	try("node: depose", err)
}

// look is what `conch status`, `history` and `watch` read.
func (c cast) look(t *testing.T, who, role, scope string, try func(string, error) bool) {
	t.Helper()
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: c.as(t, role)})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	_, err = o.Leaderships(t.Context(), scope)
	try(who+": status", err)
	_, err = o.History(t.Context(), scope, 1)
	try(who+": history", err)
	if role != c.observer {
		return
	}
	try(who+": check", pgmint.Check(t.Context(), pgmint.Config{URL: c.as(t, role)}))
	_, err = pgtest.Connect(t, pg.Config{URL: c.as(t, role)}).Exec(t.Context(), `SELECT provider_id, instance_id, last_seen FROM conch.leader_heartbeat`)
	try(who+": leader_heartbeat", err)
}

// command asks and answers as pgmint.Ask and pgmint.Obey do.
func (c cast) command(t *testing.T, scope string, try func(string, error) bool) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: c.as(t, c.node)})
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

// fenced calls the fence as both roles that may.
func (c cast) fenced(t *testing.T, token fence.Token, try func(string, error) bool) {
	t.Helper()
	for who, role := range map[string]string{"node: fence": c.node, "fence: fence": c.fence} {
		err := pgfence.Fence(t.Context(), pgtest.Connect(t, pg.Config{URL: c.as(t, role)}), token)
		if !errors.Is(err, fence.ErrStale) || token.Term != (fence.Token{}).Term {
			try(who, err)
		}
	}
}

// evict leaves a fenced transaction open, gives the scope up, and lets the next
// candidate end that transaction.
func (c cast) evict(t *testing.T, m *pgmint.Mint, a election.Session, token fence.Token, try func(string, error) bool) {
	t.Helper()
	blocker := pgtest.Connect(t, pg.Config{URL: c.as(t, c.fence)})
	tx, err := blocker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if pgfence.Fence(t.Context(), tx, token) != nil {
		return // has been counted
	}
	_, err = a.Release(t.Context(), []election.Farewell{{Token: token, Reason: "test"}})
	if !try("node: part", err) {
		return
	}
	b, err := m.Open(t.Context(), election.Candidate{ID: "b", Lease: unhurried, Longest: unhurried, Takeover: election.Strict, Scopes: []string{token.Scope}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	next, err := b.Try(t.Context(), []election.Bid{{Scope: token.Scope, Lease: time.Millisecond, Block: 50 * time.Millisecond, Evict: true}})
	if err == nil && len(next[0].Blockers) != 1 {
		err = fmt.Errorf("evicted %v", next[0].Blockers)
	} else if err == nil && !next[0].Blockers[0].Ended {
		err = errors.New(next[0].Blockers[0].What)
	}
	try("node: evict", err)
	c.explain(t, b, token.Scope, try)
}

// explain locks the row, and asks what stands in the way.
func (c cast) explain(t *testing.T, s election.Session, scope string, try func(string, error) bool) {
	t.Helper()
	run(t, c.db.Connect(t), `UPDATE conch.leadership SET parted_at = pg_catalog.clock_timestamp() WHERE scope OPERATOR(pg_catalog.=) $1`, scope)
	stranger, err := c.db.Connect(t).Begin(t.Context())
	if err == nil {
		_, err = stranger.Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope OPERATOR(pg_catalog.=) $1 FOR UPDATE`, scope)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Rollback(t.Context()) }()
	r, err := s.Try(t.Context(), []election.Bid{{Scope: scope, Lease: unhurried, Explain: true}})
	if err == nil && r[0].Outcome != election.Locked {
		err = fmt.Errorf("a locked row: %+v", r[0])
	}
	try("node: explain", err)
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: c.as(t, c.observer)})
	if err != nil {
		try("observer: explain", err)
		return
	}
	defer o.Close()
	all, err := o.Leaderships(t.Context(), scope)
	if err == nil && all[0].Obstacle == "" {
		err = fmt.Errorf("a locked row: %+v", all[0])
	}
	try("observer: explain", err)
}
