package pg_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

const secret = "hunter2"

// says checks that the sentence contains these words, is one line, and has no secret.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	text := pg.Sentence(err)
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not contain %q (error %v)", text, word, err)
		}
	}
	if strings.Contains(text, secret) || strings.Contains(text, "\n") || text == "" {
		t.Errorf("the sentence is empty or contains the password or a line break: %q", text)
	}
}

func connectError(t *testing.T, raw string) error {
	t.Helper()
	conn, err := pg.Connect(t.Context(), pg.Config{URL: raw})
	if err == nil {
		_ = conn.Close(t.Context())
		t.Fatalf("Connect(%s) returned no error", raw)
	}
	return err
}

func with(t *testing.T, raw string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func TestSentencesForWhoAndWhat(t *testing.T) {
	t.Parallel()
	const most = 20 // a refused connection takes a place until it has ended
	server := pgtest.Own(t, postmaster.Config{MaxConnections: most, Settings: map[string]string{"superuser_reserved_connections": "0"}})
	base := server.URL("postgres")
	hba := filepath.Join(server.DataDir(), "pg_hba.conf")
	rules := "local all conch trust\nlocal all barred reject\nlocal all all scram-sha-256\n"
	if err := os.WriteFile(hba, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := pgtest.Connect(t, pg.Config{URL: base})
	if _, err := admin.Exec(t.Context(), "CREATE ROLE ada LOGIN PASSWORD 'other'; CREATE ROLE barred LOGIN; SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	as := func(user string) string {
		return with(t, base, func(u *url.URL) { u.User = url.UserPassword(user, secret) })
	}
	pgtest.Eventually(t, patience, "the new rules are in force", func() bool {
		conn, err := pg.Connect(t.Context(), pg.Config{URL: as("barred")})
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return pg.Code(err) == "28000"
	})
	says(t, connectError(t, as("ada")), "password", `"ada"`, pg.EnvURL)
	says(t, connectError(t, as("barred")), `"barred"`, "pg_hba.conf")
	says(t, connectError(t, server.URL("nowhere")), "no database", `"nowhere"`)
	says(t, connectError(t, with(t, base, func(u *url.URL) { u.User = url.User("conch2") })), `"conch2"`)

	// Some of the connections above may still be ending, so the server is full earlier.
	var full error
	for range most {
		conn, err := pg.Connect(t.Context(), pg.Config{URL: base})
		if err != nil {
			full = err
			break
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	says(t, full, "no connection left", "max_connections")
	if !pg.SafeToRetry(full) {
		t.Error("SafeToRetry is false for a full server")
	}
}

func TestSentencesForAMissingRole(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	says(t, connectError(t, with(t, db.URL, func(u *url.URL) { u.User = url.UserPassword("nobody", secret) })), "no user", `"nobody"`)
}

func TestSentencesForTheNetwork(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	says(t, connectError(t, with(t, db.URL, func(u *url.URL) { u.RawQuery = "host=/nowhere&port=1" })), "no socket /nowhere/.s.PGSQL.1")
	says(t, connectError(t, "postgres://u:"+secret+"@no-such-host.invalid/d"), "no-such-host.invalid", pg.EnvURL)

	const closed = "127.0.0.1:1" // the kernel never gives this port away, as it may with one just closed
	refused := connectError(t, "postgres://u:"+secret+"@"+closed+"/d")
	says(t, refused, "nothing listens at "+closed)
	if !pg.SafeToRetry(refused) {
		t.Error("SafeToRetry is false although nothing was sent")
	}

	proxy, through := db.Proxy(t)
	proxy.Blackhole(tcpproxy.Both)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := pg.Connect(ctx, pg.Config{URL: through})
	says(t, err, "did not answer in time", proxy.Addr())
}

// S29: the sentence names the missing object or privilege.
func TestSentencesForTheSchemaAndItsGrants(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn := db.Connect(t)
	fails := func(sql string) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	}
	says(t, fails("SELECT FROM conch.leadership"), "conch migrate up")
	says(t, fails("SELECT conch.fence('a', 1)"), "conch migrate up")
	role := "reader_of_" + db.Name
	if err := fails("CREATE SCHEMA conch; CREATE TABLE conch.leadership (n int); CREATE ROLE " + role + "; GRANT USAGE ON SCHEMA conch TO " + role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = conn.Exec(context.Background(), "RESET ROLE; DROP SCHEMA conch CASCADE; DROP ROLE "+role)
	})
	says(t, fails("SET ROLE "+role+"; SELECT FROM conch.leadership"), "leadership", "deploy/grants")
	if err := fails("RESET ROLE"); err != nil {
		t.Fatal(err)
	}
	says(t, fails("SELECT FROM elsewhere"), "elsewhere") // not a table of conch: unchanged
}

// Sentence does not change an error that only looks like one of the database.
func TestSentencesBlameTheDatabaseForNothingElse(t *testing.T) {
	t.Parallel()
	_, missing := os.ReadFile(filepath.Join(t.TempDir(), "none"))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, inUse := net.Listen("tcp", taken.Addr().String())
	_, away := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, local := range map[string]error{
		"a file that is missing": missing, "an address in use": inUse, "another server that is away": away,
		"no right": &os.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "a file that ends": io.ErrUnexpectedEOF,
		"somebody's deadline": over.Err(), "a name": &net.DNSError{Err: "no such host", Name: "peer.invalid"},
		"another's certificate": x509.UnknownAuthorityError{},
	} {
		if local == nil {
			t.Fatal(name + ": the test made no error")
		}
		if got := pg.Sentence(fmt.Errorf("doing: %w", local)); got != "doing: "+local.Error() {
			t.Errorf("%s: got %q, want the error unchanged", name, got)
		}
	}
}

// Sentence recognises errors of an open connection by their type, through any wrapper.
func TestSentencesForALineThatBreaks(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for name, direction := range map[string]func(*tcpproxy.Proxy){
		"reset":      (*tcpproxy.Proxy).Reset,
		"blackholed": func(p *tcpproxy.Proxy) { p.Blackhole(tcpproxy.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, through := db.Proxy(t)
			conn, err := pg.Connect(t.Context(), pg.Config{URL: through})
			if err != nil {
				t.Fatal(err)
			}
			direction(proxy)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = conn.Exec(ctx, "SELECT 1")
			if !pg.IsLost(err) {
				t.Errorf("IsLost is false for %v", err)
			}
			says(t, err, "the database server")
			_, err = conn.Exec(t.Context(), "SELECT 1")
			says(t, err, "the connection to the database server is gone")
		})
	}
}

func TestSentencesOfOurOwnErrorsAreTheErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&pg.ConfigError{Reason: "r"}, &pg.VersionError{Server: "13"}, &pg.StandbyError{Target: "t"},
		&pg.PoolerError{Target: "t", Mode: pg.PoolTransaction}, &pg.PoolerError{Target: "t", Mode: pg.PoolUnknown, Err: errors.New("e")},
	} {
		if got := pg.Sentence(fmt.Errorf("opening: %w", err)); got != err.Error() {
			t.Errorf("got %q, want %q", got, err)
		}
	}
	if got := pg.Sentence(errors.New("two\nlines")); got != "two; lines" {
		t.Errorf("got %q, want %q", got, "two; lines")
	}
	if got := pg.Sentence(nil); got != "" {
		t.Errorf("the sentence of nil is %q, want none", got)
	}
}

func TestIsLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	run := func(conn *pgx.Conn, sql string) error { _, err := conn.Exec(t.Context(), sql); return err }

	conn := db.Connect(t)
	if err := run(conn, "SELECT 1/0"); pg.IsLost(err) || pg.SafeToRetry(err) {
		t.Errorf("a failed statement counts as lost or safe to retry: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Exec(over, "SELECT 1"); err == nil || pg.IsLost(err) || conn.IsClosed() {
		t.Errorf("the context had ended before: got %v, closed %v, want an error and an open connection", err, conn.IsClosed())
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second) // long enough to send the statement
	defer cancel()
	if _, err := conn.Exec(short, "SELECT pg_sleep(10)"); !pg.IsLost(err) || !conn.IsClosed() || pg.SafeToRetry(err) {
		t.Errorf("the context ended during the statement: got %v, closed %v, want a lost connection", err, conn.IsClosed())
	}
	if err := run(conn, "SELECT 1"); !pg.IsLost(err) {
		t.Errorf("IsLost is false for %v on a closed connection", err)
	}

	killed := db.Connect(t)
	if _, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend($1)", killed.PgConn().PID()); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, patience, "the backend ends", func() bool { return run(killed, "SELECT 1") != nil })
	if err := run(killed, "SELECT 1"); !pg.IsLost(err) {
		t.Errorf("IsLost is false for %v after the backend was terminated", err)
	}
	if pg.IsLost(nil) || pg.SafeToRetry(nil) {
		t.Error("IsLost or SafeToRetry is true for nil")
	}
}

// That policies would hide rows is mended by the owner of the tables too, but not by connecting as another role.
func TestHiddenRowsAreNoPrivilege(t *testing.T) {
	t.Parallel()
	hidden, missing := &pgconn.PgError{Code: "42501", Routine: "check_enable_rls"}, &pgconn.PgError{Code: "42501", Routine: "aclcheck_error"}
	if got := pg.ForOwners(hidden); got != error(hidden) { //nolint:errorlint // the very same error
		t.Errorf("got %v, want it unchanged", got)
	}
	if _, is := errors.AsType[*pg.OwnerError](pg.ForOwners(missing)); !is {
		t.Error("a privilege that is missing is none for owners")
	}
}
