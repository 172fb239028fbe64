package main_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// needsSchema lists the commands that work on a database with the schema.
var needsSchema = []string{"status", "history", "watch", "migrate advance --scope s --epoch 9"}

func TestADatabaseWithoutTheSchema(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	for _, command := range needsSchema {
		conch(t, append(strings.Fields(command), "--db", db.URL)...).refused(t, 1, "conch migrate up")
	}
	if text := conch(t, "--db", db.URL, "migrate", "status").done(t); !strings.Contains(text, "schema 0 of ") {
		t.Errorf("migrate status prints %q, want schema 0", text)
	}
}

func TestTheDatabaseIsTakenFromFlagThenEnvironment(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	where, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args, env []string
		code      int
	}{
		"--db":                        {args: []string{"--db", db.URL}},
		"CONCH_DB_URL":                {env: []string{"CONCH_DB_URL=" + db.URL}},
		"--db wins":                   {args: []string{"--db", db.URL}, env: []string{"CONCH_DB_URL=postgres://127.0.0.1:1/x"}},
		"CONCH_DB_URL wins over PG*":  {env: []string{"CONCH_DB_URL=" + db.URL, "PGDATABASE=nowhere"}},
		"PG*":                         {env: []string{"PGHOST=" + where.Host, fmt.Sprintf("PGPORT=%d", where.Port), "PGUSER=" + where.User, "PGDATABASE=" + db.Name}},
		"a CA file that is not there": {args: []string{"--db", db.URL}, env: []string{"CONCH_DB_TLS_CA_FILE=" + filepath.Join(t.TempDir(), "none.pem")}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := prepared(t, append(c.args, "status")...)
			cmd.Env = append(cmd.Env, c.env...)
			if r := call(t, cmd); r.code != c.code {
				t.Errorf("exit code %d, want %d, with %s", r.code, c.code, r.err)
			}
		})
	}
}

func TestADatabaseThatCanNotBeUsed(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	for _, c := range []struct {
		name, url string
		code      int
		says      []string
	}{
		{"not a URL", "postgres://conch:hunter2@db.example:port/app", 2, []string{"unusable"}},
		{"not a URL at all", "hunter2 ", 2, []string{"unusable"}},
		{"a broken escape", "postgres://conch:hunter2%zz@db.example/app", 2, []string{"unusable"}},
		{"nobody listens", "postgres://conch:hunter2@127.0.0.1:1/app", 1, []string{"nothing listens at 127.0.0.1:1", "--db"}},
		{"no such host", "postgres://conch:hunter2@db.invalid/app", 1, []string{"db.invalid"}},
		{"no such database", strings.Replace(db.URL, "/"+db.Name, "/nowhere", 1), 1, []string{`there is no database "nowhere"`}},
		{"no such user", strings.Replace(db.URL, postmaster.Superuser+"@", "stranger:hunter2@", 1), 1, []string{"stranger"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"status", "migrate up"} {
				r := conch(t, append(strings.Fields(command), "--db", c.url)...)
				r.refused(t, c.code, c.says...)
				if strings.Contains(r.err, "hunter2") {
					t.Errorf("the message contains the password: %s", r.err)
				}
			}
		})
	}
}

// Only the schema's owner may change it: no script grants that to another role.
func TestOnlyTheOwnerMigrates(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	c := pgtest.Granted(t, db)
	for _, command := range []string{"migrate advance --scope s --epoch 9", "migrate down"} {
		r := conch(t, append(strings.Fields(command), "--db", c.As(t, c.Node))...)
		r.refused(t, 1, "connect as the owner of the schema conch")
		if strings.Contains(r.err, "grants.sql") {
			t.Errorf("%s says %q, want nothing of grants.sql", command, r.err)
		}
	}
}

func TestAWrongPassword(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{TCP: true})
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	hba := filepath.Join(server.DataDir(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("host all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Give(hba); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `CREATE USER clerk PASSWORD 'right'; SELECT pg_reload_conf()`); err != nil {
		t.Fatal(err)
	}
	as := func(password string) string {
		u, err := url.Parse(server.TCPURL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("clerk", password)
		return u.String()
	}
	pgtest.Eventually(t, patience, "the right password is let in", func() bool {
		return conch(t, "--db", as("right"), "migrate", "status").code == 0
	})
	for _, command := range []string{"status", "migrate up", "watch"} {
		r := conch(t, append(strings.Fields(command), "--db", as("hunter2"))...)
		r.refused(t, 1, `the password for user "clerk" was refused`)
		if strings.Contains(r.err, "hunter2") {
			t.Errorf("the message contains the password: %s", r.err)
		}
	}
}

// Test machines have no server that old, so the test fakes one.
func TestAServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			beOld(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-served })
	address := "postgres://conch:hunter2@" + listener.Addr().String() + "/app?sslmode=disable"
	for _, command := range []string{"status", "migrate up"} {
		conch(t, append(strings.Fields(command), "--db", address)...).refused(t, 1, "PostgreSQL 13.4", "14 or later")
	}
}

func beOld(conn net.Conn) {
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: "13.4"})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if server.Flush() == nil {
		_, _ = server.Receive() // close after the first request, whatever it is
	}
}
