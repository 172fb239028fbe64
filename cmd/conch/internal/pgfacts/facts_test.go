package pgfacts_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/pgfacts"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

func judge(t *testing.T, address string) []doctor.Finding {
	t.Helper()
	facts, err := pgfacts.Gather(t.Context(), pgmint.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	return doctor.Judge(facts)
}

// want is a finding that must be among those found.
type want struct {
	check  string
	status doctor.Status
	says   string
}

func expect(t *testing.T, found []doctor.Finding, all ...want) {
	t.Helper()
	for _, w := range all {
		if !slices.ContainsFunc(found, w.met) {
			t.Errorf("no finding %v among %+v", w, found)
		}
	}
}

func (w want) met(f doctor.Finding) bool {
	return f.Check == w.check && f.Status == w.status && strings.Contains(f.Detail+" "+f.Remedy, w.says)
}

// eventually expects a finding that the server takes a moment to show.
func eventually(t *testing.T, address string, w want) {
	t.Helper()
	pgtest.Eventually(t, time.Minute, fmt.Sprintf("finding %v", w), func() bool {
		return slices.ContainsFunc(judge(t, address), w.met)
	})
}

func run(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func as(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// session campaigns for the scopes and, if it can, leads the first.
func session(t *testing.T, address, id string, takeover mint.Takeover, scopes ...string) mint.Session {
	t.Helper()
	m, err := pgmint.New(pgmint.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	lease := time.Minute // it has no heartbeat here
	s, err := m.Open(t.Context(), mint.Candidate{ID: id, Lease: lease, Longest: lease, Takeover: takeover, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Try(t.Context(), []mint.Bid{{Scope: scopes[0], Lease: lease}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Doctor finds a scope whose leader is gone and whose row is locked, and a role that has failed,
// with its error.
func TestNobodyLeads(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin, stranger := db.Connect(t), db.Connect(t)
	first := session(t, db.URL, "a", mint.Strict, "s")
	session(t, db.URL, "b", mint.Strict, "s")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, admin, `UPDATE conch.leadership SET lease_ms = 1, acquired_at = acquired_at - interval '1 hour'`, `UPDATE conch.heartbeat SET beat_at = beat_at - interval '1 hour'`,
		`INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason)
		 SELECT 's', 1, 'a', 'failed', 'the role ended: the command ended with code ' || n FROM generate_series(1, 3) n`)
	run(t, stranger, `BEGIN`, `SELECT FROM conch.leadership FOR UPDATE`)
	expect(t, judge(t, db.URL), want{"leaders", doctor.Fail, "and b would like to: its row is locked by pid "},
		want{"roles", doctor.Warn, "failed 3 times in ten minutes, last: the command ended with code 3 mend"})
	run(t, stranger, `ROLLBACK`)
	expect(t, judge(t, db.URL), want{"leaders", doctor.Fail, "NOBODY LEADS"})
}

// On a healthy database all is well, except that a test's private server runs without fsync.
func TestAWellDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	session(t, db.URL, "a", mint.Strict, "s")
	session(t, db.URL, "b", mint.Strict, "s")
	found := judge(t, db.URL)
	for _, f := range found {
		if f.Status != doctor.OK && f.Check != "durability" {
			t.Errorf("got %+v, want ok", f)
		}
	}
	expect(t, found, want{"replication", doctor.OK, "one server"}, want{"durability", doctor.Fail, "fsync"},
		want{"identities", doctor.OK, "2 processes"}, want{"holders", doctor.OK, "1 of 1 scope is led"})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	role := db.Name + "_set"
	run(t, db.Connect(t), `CREATE ROLE `+role+` LOGIN SUPERUSER`,
		`ALTER ROLE `+role+` SET idle_session_timeout = '2s'`,
		`ALTER ROLE `+role+` SET session_replication_role = 'replica'`,
		`ALTER ROLE `+role+` SET synchronous_commit = 'off'`)
	expect(t, judge(t, as(t, db.URL, role)),
		want{"settings", doctor.Warn, "idle_session_timeout is 2s (from: user)"},
		want{"settings", doctor.Fail, "no trigger fires"},
		want{"durability", doctor.Warn, "synchronous_commit is off"})
}

// What conch sets on its own connections keeps nobody from leading, and is no finding.
func TestSettingsThatDoNotMatter(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	role := db.Name + "_odd"
	run(t, db.Connect(t), `CREATE ROLE `+role+` LOGIN SUPERUSER`)
	for _, setting := range []string{
		`default_transaction_isolation = 'serializable'`, `default_transaction_deferrable = on`, `statement_timeout = '2s'`, `lock_timeout = '1ms'`,
		`idle_in_transaction_session_timeout = '1s'`, `row_security = on`, `search_path = ''`, `client_min_messages = error`,
		`standard_conforming_strings = off`, `datestyle = 'SQL, DMY'`, `intervalstyle = sql_standard`, `bytea_output = escape`,
	} {
		run(t, db.Connect(t), `ALTER ROLE `+role+` SET `+setting)
	}
	address := as(t, db.URL, role)
	session(t, address, "a", mint.Strict, "s")
	found := judge(t, address)
	for _, f := range found {
		if f.Status != doctor.OK && f.Check != "durability" {
			t.Errorf("got %+v, want ok", f)
		}
	}
	expect(t, found, want{"holders", doctor.OK, "1 of 1 scope is led"})
}

// Doctor names tables that are not as the migrations made them, and a lock on one, even if it cannot read it then.
func TestTables(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin, role := db.Connect(t), db.Name+"_shut"
	run(t, admin, `CREATE ROLE `+role+` LOGIN`, `GRANT USAGE ON SCHEMA conch TO `+role, `GRANT SELECT ON ALL TABLES IN SCHEMA conch TO `+role,
		`ALTER TABLE conch.schema_version ENABLE ROW LEVEL SECURITY`,
		`CREATE RULE quiet AS ON INSERT TO conch.leadership_history DO INSTEAD NOTHING`,
		`CREATE SCHEMA old`, `ALTER TABLE conch.command SET SCHEMA old`)
	expect(t, judge(t, as(t, db.URL, role)), want{"tables", doctor.Fail, "hides rows from role"}, want{"tables", doctor.Fail, "ALTER TABLE conch.schema_version DISABLE ROW LEVEL SECURITY"},
		want{"schema", doctor.Warn, "row-level security is on"}, want{"tables", doctor.Fail, "ALTER TABLE old.command SET SCHEMA conch"},
		want{"tables", doctor.Fail, "DROP RULE quiet ON conch.leadership_history"})
	expect(t, judge(t, db.URL), want{"tables", doctor.Warn, "conch.schema_version DISABLE"}, want{"waits", doctor.OK, ""}, want{"notifications", doctor.OK, "0% full"})
	stranger := db.Connect(t)
	run(t, stranger, `BEGIN`, `LOCK TABLE conch.process`)
	eventually(t, db.URL, want{"waits", doctor.Fail, fmt.Sprintf("pg_terminate_backend(%d)", stranger.PgConn().PID())})
}

func TestScopes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	session(t, db.URL, "a", mint.Strict, "s", "t")
	session(t, db.URL, "a", mint.Fast, "t", "s")
	_ = session(t, db.URL, "gone", mint.Strict, "u").Close()
	run(t, admin, `ALTER TABLE conch.leadership_history SET UNLOGGED`,
		`ALTER TABLE conch.leadership DISABLE TRIGGER guard_epoch`,
		`UPDATE conch.leadership SET system_id = 1 WHERE scope = 's'`)
	pgtest.Eventually(t, time.Minute, "the session to be gone", func() bool {
		for _, f := range judge(t, db.URL) {
			if f.Check == "holders" && strings.Contains(f.Detail, "gone") {
				return true
			}
		}
		return false
	})
	expect(t, judge(t, db.URL),
		want{"durability", doctor.Fail, "conch.leadership_history is unlogged"},
		want{"guards", doctor.Fail, "guard_epoch"},
		want{"history", doctor.Warn, "conch migrate advance --scope s --epoch "},
		want{"holders", doctor.Warn, `scope "u": gone`},
		want{"takeover", doctor.Warn, `scope "s" agreed on takeover "strict"; refused there: a with "fast"`},
		want{"takeover", doctor.Warn, `scope "t" agreed on takeover "fast"; refused there: a with "strict"`},
		want{"identities", doctor.Warn, `two processes call themselves "a"`})
}

// The remedy for a trigger that is missing or disabled restores the one that the migrations make.
func TestTriggersArePutBack(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	triggers := func() (all []string) {
		t.Helper()
		if err := admin.QueryRow(t.Context(), `SELECT array_agg(tgenabled::text || pg_get_triggerdef(oid) ORDER BY tgname)
			FROM pg_trigger WHERE tgrelid = 'conch.leadership'::regclass AND NOT tgisinternal`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := triggers()
	for _, harm := range []string{`DROP TRIGGER %s ON conch.leadership`, `ALTER TABLE conch.leadership DISABLE TRIGGER %s`} {
		for _, name := range []string{"announce", "guard_epoch", "guard_rows", "guard_truncate"} {
			run(t, admin, fmt.Sprintf(harm, name))
		}
		found := judge(t, db.URL)
		i := slices.IndexFunc(found, want{"guards", doctor.Fail, "guard_truncate"}.met)
		if i < 0 {
			t.Fatalf("%+v", found)
		}
		_, remedy, _ := strings.Cut(found[i].Remedy, ": ")
		run(t, admin, remedy)
		if now := triggers(); !slices.Equal(now, before) {
			t.Errorf("after %q: %q, want %q", remedy, now, before)
		}
	}
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	role := db.Name + "_some"
	run(t, admin, `CREATE ROLE `+role+` LOGIN`)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.Fail, "USAGE on schema conch"}, want{"holders", doctor.Warn, "could not be looked at"})
	run(t, admin, `GRANT USAGE ON SCHEMA conch TO `+role, `GRANT SELECT ON ALL TABLES IN SCHEMA conch TO `+role)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.Fail, "INSERT on conch.process"}, want{"holders", doctor.OK, ""})
	run(t, admin, `REVOKE ALL ON conch.command FROM `+role, `REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC`)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.Fail, "EXECUTE on conch.obstacle"}, want{"leaders", doctor.Warn, "could not be looked at"})
	run(t, admin, `GRANT EXECUTE ON FUNCTION conch.obstacle, conch.holders, conch.row_holders, conch.culprit, conch.fence_key TO `+role)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.Warn, "observer"})
	run(t, admin, `GRANT ALL ON ALL TABLES IN SCHEMA conch TO `+role, `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA conch TO `+role)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.OK, ""})
	run(t, admin, `CREATE ROLE `+role+`_app LOGIN`, `GRANT `+role+` TO `+role+`_app`)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.Warn, role + "_app could hold a fence"})
	run(t, admin, `GRANT `+role+`_app TO conch`, `ALTER ROLE `+role+` CONNECTION LIMIT 3`, `GRANT pg_signal_backend TO `+role)
	expect(t, judge(t, as(t, db.URL, role)), want{"privileges", doctor.OK, ""}, want{"connections", doctor.Warn, "CONNECTION LIMIT"})
}

func TestSchemaVersions(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	newer := func(n int) {
		run(t, admin, fmt.Sprintf(`INSERT INTO conch.schema_version (version, name, checksum) VALUES (%d, 'later', 'x')`, pgmint.Tables.Newest()+n))
	}
	newer(1)
	expect(t, judge(t, db.URL), want{"schema", doctor.Warn, "upgrade this program"})
	newer(2)
	expect(t, judge(t, db.URL), want{"schema", doctor.Fail, "upgrade this program"})
	run(t, admin, `DROP SCHEMA conch CASCADE`)
	expect(t, judge(t, db.URL), want{"schema", doctor.Fail, "conch migrate up"})
}

// Doctor judges what belongs to the whole server: replication, locks, connections.
func TestServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Fsync: true, MaxConnections: 10, TCP: true, Settings: map[string]string{
		"max_locks_per_transaction": "10", "full_page_writes": "off",
	}})
	address := server.URL("postgres")
	admin := pgtest.Connect(t, configOf(address))
	eventually(t, address, want{"connections", doctor.OK, "6 of 7 left"}) // the server counts a session for a moment after its end
	expect(t, judge(t, address), want{"locks", doctor.OK, "10 × (10 + 0) = 100 locks"}, want{"durability", doctor.Warn, "full_page_writes"},
		want{"reachable", doctor.OK, ""})
	expect(t, judge(t, server.TCPURL("postgres")), want{"encryption", doctor.OK, "does not leave this machine"})
	other := pgtest.Connect(t, configOf(address))
	run(t, other, `SELECT pg_advisory_lock(n) FROM generate_series(1, 60) n`)
	eventually(t, address, want{"connections", doctor.Warn, "5 of 7 left"})
	expect(t, judge(t, address), want{"locks", doctor.Warn, "max_locks_per_transaction"})
	namesTheEar(t, address, admin)
	run(t, admin, `ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'`, `SELECT pg_reload_conf()`)
	eventually(t, address, want{"replication", doctor.Fail, "nobody leads"})
}

// Of sessions in a transaction those are named first that may listen, also if they are younger than candidates, which wait for a lock.
func namesTheEar(t *testing.T, address string, admin *pgx.Conn) {
	t.Helper()
	waits, ear := pgtest.Connect(t, configOf(address)), pgtest.Connect(t, configOf(address))
	run(t, waits, `SET application_name = 'waits'`)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = waits.Exec(ctx, `SELECT pg_advisory_lock(1)`)
	}()
	pgtest.Eventually(t, time.Minute, "one waits for a lock", func() (is bool) {
		err := admin.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'advisory')`).Scan(&is)
		return err == nil && is
	})
	run(t, ear, `SET application_name = 'ear'`, `LISTEN x`, `BEGIN`)
	run(t, admin, `SET allow_system_table_mods = on`, `ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO conch_test_usage`,
		`CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS 'SELECT 0.62::float8'`)
	found := judge(t, address)
	i := slices.IndexFunc(found, want{"notifications", doctor.Warn, "62% full"}.met)
	if i < 0 || !strings.Contains(found[i].Remedy, "the oldest are · pid "+fmt.Sprint(ear.PgConn().PID())+" (ear, ") || !strings.Contains(found[i].Remedy, " (waits, ") {
		t.Errorf("%+v", found)
	}
	cancel()
	<-over
	run(t, ear, `ROLLBACK`)
}

// Doctor judges a primary and its standby, before and after the standby is promoted.
func TestReplication(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := pgtest.Own(t, postmaster.Config{})
	address := primary.URL("postgres")
	admin := pgtest.Connect(t, configOf(address))
	if err := pgmint.Up(t.Context(), pgmint.Config{URL: address}, nil); err != nil {
		t.Fatal(err)
	}
	session(t, address, "a", mint.Strict, "s")
	link, _ := pgtest.Proxy(t, primary, "postgres")
	standby := pgtest.Standby(t, primary, postmaster.Config{}, postmaster.Follow{Name: "s1", Link: link.Addr()})
	there := standby.URL("postgres")
	eventually(t, address, want{"replication", doctor.Warn, "asynchronous, 1 standby"})
	expect(t, judge(t, there), want{"reachable", doctor.Fail, "is a standby and takes no writes"}, want{"replication", doctor.Warn, "this is a standby"},
		want{"history", doctor.OK, "not asked"}, want{"holders", doctor.OK, "not asked"}, want{"identities", doctor.OK, "not asked"})

	names := func(value string) {
		run(t, admin, `SET synchronous_commit = local`, `ALTER SYSTEM SET synchronous_standby_names = '`+value+`'`, `SELECT pg_reload_conf()`)
	}
	run(t, admin, `ALTER DATABASE postgres SET client_min_messages = error`)
	names("s1")
	eventually(t, address, want{"durability", doctor.Warn, "client_min_messages is error"})
	eventually(t, address, want{"replication", doctor.OK, "synchronous, one standby confirms every commit"})
	names("ANY 1 (s1, s2)")
	eventually(t, address, want{"replication", doctor.OK, "synchronous, one standby confirms"})
	second := pgtest.Standby(t, primary, postmaster.Config{}, postmaster.Follow{Name: "s2"})
	eventually(t, address, want{"replication", doctor.OK, "2 standbys can confirm a commit and 1 must"})
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	link.Refuse()
	link.Reset()
	eventually(t, address, want{"replication", doctor.Fail, "nobody leads"})

	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, judge(t, there), want{"reachable", doctor.OK, ""}, want{"replication", doctor.OK, "one server"},
		want{"history", doctor.Warn, `scope "s" was last led on timeline 1, and the server is on 2`},
		want{"history", doctor.Warn, "the next election jumps over them"})
	session(t, there, "b", mint.Strict, "s")
	expect(t, judge(t, there), want{"history", doctor.OK, "timeline 2; every scope was last led in it"})
}

// With several addresses doctor names each, and the one that it talks with.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	gone, _ := db.Proxy(t)
	gone.Refuse()
	found := judge(t, "postgres://conch@"+gone.Addr()+","+good.Addr()+"/"+db.Name+"?sslmode=disable&target_session_attrs=read-write")
	expect(t, found, want{"reachable", doctor.OK, good.Addr()}, want{"addresses", doctor.Warn, good.Addr() + ": answers"}, want{"addresses", doctor.Warn, gone.Addr() + ": "})
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	facts, err := pgfacts.Gather(t.Context(), pgmint.Config{URL: "postgres://conch:hunter2@127.0.0.1:1/app"})
	if err == nil {
		t.Fatal("something listens at port 1")
	}
	found := doctor.Judge(facts)
	if len(found) != 2 || strings.Contains(fmt.Sprint(found), "hunter2") {
		t.Errorf("got %+v, want two findings without the password", found)
	}
	expect(t, found, want{"reachable", doctor.Fail, "nothing listens at 127.0.0.1:1"}, want{"boottime", doctor.OK, ""})
}

func configOf(address string) pg.Config { return pg.Config{URL: address, AppName: "conch-test"} }
