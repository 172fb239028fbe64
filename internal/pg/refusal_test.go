package pg_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// What a server or a pooler says when it refuses is shown, whatever its code.
func TestTheWordsOfWhoRefusedAreShown(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for query, words := range map[string][]string{
		"keepalives=1": {`the parameter "keepalives"`, "unrecognized configuration parameter"},
		"keepalives=1&keepalives_idle=2&options=-c%20nowhere%3D1": {"refused the connection", `parameter "nowhere"`},
		"statement_cache_mode=x":                                  {`the parameter "statement_cache_mode"`},
		"TimeZone=Nowhere%2FX":                                    {"refused the connection", "Nowhere/X"},
		"ssl_min_protocol_version=TLSv1.2":                        {"refused the connection", "ssl_min_protocol_version"},
	} {
		says(t, connectError(t, with(t, db.URL, func(u *url.URL) { u.RawQuery += "&" + query })), words...)
	}
	for _, refused := range []struct{ code, message, says string }{
		{"08P01", "unsupported startup parameter: application_name", `the parameter "application_name"`},
		{"08P01", "no such user: ada", "no such user: ada"},
		{"08P01", "server login failed: FATAL password authentication failed", "server login failed"},
		{"08P01", "SSL required", "sslmode=verify-full"},
		{"28000", "no pg_hba.conf entry for host, no encryption", "sslmode=verify-full"},
		{"28000", "Invalid Username specified. The Username should be in <username@hostname> format.", "username@hostname"},
		{"28000", "connection requires a valid client certificate", "sslcert and sslkey"},
		{"28P01", "you sent " + secret, "you sent …"},
		{"XX000", "Tenant or user not found", "Tenant or user not found"},
		{"XX000", "red \x1b[31m and\nback \u202e", "red [31m and back"},
	} {
		at := serve(t, refuses(refused.code, refused.message))
		for _, mode := range []string{"prefer", "disable"} {
			err := connectError(t, "postgres://ada:"+secret+"@"+at+"/d?application_name=x&sslmode="+mode)
			says(t, err, refused.says)
			if text := pg.Sentence(err); strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "offers no TLS") {
				t.Errorf("%q has control characters, or guesses about TLS", text)
			}
		}
	}
}

// A parameter is named whole, also if another one begins as it does; and nobody's text fills the screen.
func TestWhatIsQuotedOfARefusal(t *testing.T) {
	t.Parallel()
	at := serve(t, refuses("08P01", "unsupported startup parameter: keepalives_idle"))
	for range 8 { // the parameters have no order
		says(t, connectError(t, "postgres://ada@"+at+"/d?sslmode=disable&keepalives=1&keepalives_idle=2"), `the parameter "keepalives_idle"`)
	}
	at = serve(t, refuses("XX000", strings.Repeat("long ", 1000)))
	if text := pg.Sentence(connectError(t, "postgres://ada@"+at+"/d?sslmode=disable")); len(text) > 900 {
		t.Errorf("%d bytes are shown: %s", len(text), text)
	}
}

// Of several attempts at one address, as with and without TLS, the one that came further speaks.
func TestTheAttemptThatCameFurtherSpeaks(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	at := serve(t, func(conn net.Conn) {
		if attempts.Add(1) == 1 {
			refuses("28000", "no pg_hba.conf entry for host, SSL encryption")(conn)
			return
		}
		refuses("28P01", "password authentication failed")(conn)
	})
	says(t, connectError(t, "postgres://ada:"+secret+"@"+at+","+at+"/d?sslmode=disable"), "the password for user")
	attempts.Store(0)
	at = serve(t, func(conn net.Conn) {
		if attempts.Add(1) == 1 {
			refuses("XX000", "Tenant or user not found")(conn)
			return
		}
		refuses("28000", "no pg_hba.conf entry for host, no encryption")(conn)
	})
	says(t, connectError(t, "postgres://ada:"+secret+"@"+at+","+at+"/d?sslmode=disable"), "Tenant or user not found")
	for said, want := range map[pgproto3.BackendMessage]string{
		&pgproto3.ParameterStatus{}:                             "did not answer in time",
		&pgproto3.AuthenticationCleartextPassword{}:             "If it is, correct",
		&pgproto3.ErrorResponse{Severity: "FATAL", Code: "???"}: "refused the connection",
	} {
		at := serve(t, greets(said))
		says(t, connectError(t, "postgres://ada@"+at+"/d?sslmode=prefer&connect_timeout=1&require_auth=scram-sha-256"), want)
	}
}

// Programs that are not PostgreSQL are named by what they say.
func TestAProgramThatIsNotPostgreSQLIsDoubted(t *testing.T) {
	t.Parallel()
	for _, hello := range []string{"HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-OpenSSH_9.6\r\n", "220 mail.example ESMTP\r\n", "-ERR unknown command\r\n"} {
		at := serve(t, func(conn net.Conn) { _, _ = conn.Write([]byte(hello)); _ = conn.(*net.TCPConn).CloseWrite() })
		for _, mode := range []string{"prefer", "disable", "require"} {
			says(t, connectError(t, "postgres://ada@"+at+"/d?sslmode="+mode), at, "is it PostgreSQL")
		}
	}
	at := serve(t, greets(&pgproto3.AuthenticationOk{}, &pgproto3.CopyDone{}))
	err := connectError(t, "postgres://ada@"+at+"/d?sslmode=disable")
	says(t, err, at, "is it PostgreSQL?")
	if text := pg.Sentence(err); strings.Contains(text, "%!") {
		t.Error(text)
	}
}

// A password, user or database with a character that a URL gives another meaning.
func TestAPasswordThatMustBeEncodedIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"postgres://u:" + secret + "/x@h/d":             "percent-encoded",
		"postgres://u:12/" + secret + "@h/d":            "percent-encoded",
		"postgres://u:" + secret + "%zz@h/d":            "percent-encoded",
		"postgres://u:" + secret + "/x?y@h:5432/d":      "percent-encoded",
		"postgres://u:[" + secret + "/]@h/d":            "percent-encoded",
		"postgres://u:" + secret + " x@h/d":             "percent-encoded",
		"postgres://ada@server:" + secret + "@h/d":      "%40",
		"postgres://ada@server:" + secret + "@h:5432/d": "%40",
		"postgres://u:" + secret + "@x@h,i/d":           "%40",
	} {
		_, err := pg.Config{URL: raw}.Parse()
		if err == nil {
			t.Errorf("%s was accepted", raw)
			continue
		}
		says(t, err, want)
	}
	for _, raw := range []string{
		"postgres://u:p%2Fq%23r@h/d", "postgres://u:p#q@h/d", "postgres://u:p?q@h/d", "postgres://ada%40server:p@h/d",
		"postgres://h/d?user=ada@server", "postgres://[::1]:5432/d", "user=ada@server password=a://b@/c host=h",
	} {
		if _, err := (pg.Config{URL: raw}).Parse(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

const anyVersion = "15.4"

func through(addr string) pg.Config { return pg.Config{URL: pgtest.ThroughURL(addr, "any")} }

// S1: Open refuses a pool in transaction mode, where a lock excludes no other client.
func TestTransactionModeIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, fifo := range []bool{false, true} {
		for idle := range 5 {
			t.Run(fmt.Sprintf("fifo=%v idle=%d", fifo, idle), func(t *testing.T) {
				t.Parallel()
				pool := &fakePool{transaction: true, fifo: fifo, version: anyVersion, url: db.URL}
				_, err := pg.Open(t.Context(), through(pool.start(t, idle)), pg.Settings{Lease: time.Second})
				var pooler *pg.PoolerError
				if !errors.As(err, &pooler) || pooler.Mode != pg.PoolTransaction || !strings.Contains(err.Error(), "session mode") {
					t.Fatalf("Open returned %v, want a *PoolerError in transaction mode", err)
				}
			})
		}
	}
}

// This pool gives each client a backend of its own, so process ids do not show that it shares.
func TestAPoolThatHidesItsModeIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	pool := &fakePool{transaction: true, sticky: true, version: anyVersion, url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	pooler, ok := errors.AsType[*pg.PoolerError](err)
	if !ok || pooler.Mode != pg.PoolTransaction {
		t.Fatalf("Open returned %v, want a *PoolerError in transaction mode", err)
	}
}

func TestARefusedPoolIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	pool := &fakePool{transaction: true, version: anyVersion, url: pgtest.New(t).URL}
	cfg := through(pool.start(t, 1))
	if _, err := pg.Open(t.Context(), cfg, pg.Settings{Lease: time.Second}); err == nil {
		t.Fatal("Open returned no error")
	}
	results, err := pgtest.Connect(t, cfg).PgConn().Exec(t.Context(), "SHOW idle_session_timeout").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(results[0].Rows[0][0]); got != "0" {
		t.Fatalf("a backend of the pool has idle_session_timeout = %s, want 0", got)
	}
}

func TestSessionModeIsAllowedAndSaid(t *testing.T) {
	t.Parallel()
	pool := &fakePool{version: anyVersion, url: pgtest.New(t).URL}
	s := open(t, through(pool.start(t, 2)), pg.Settings{Lease: 3 * time.Second})
	if !s.Pooler() {
		t.Error("Pooler is false behind a pooler")
	}
	if got := shown(t, s, "idle_session_timeout"); got != "3s" {
		t.Errorf("idle_session_timeout = %s, want 3s", got)
	}
}

// A full pool does not show whether it shares backends.
func TestAPoolThatGivesNoSecondConnectionIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	pool := &fakePool{size: 1, version: anyVersion, url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	var pooler *pg.PoolerError
	if !errors.As(err, &pooler) || pooler.Mode != pg.PoolUnknown || pg.Code(err) != "53300" {
		t.Fatalf("Open returned %v, want a *PoolerError in unknown mode with SQLSTATE 53300", err)
	}
}

func TestAnOldServerIsRefused(t *testing.T) {
	t.Parallel()
	pool := &fakePool{version: "13.14 (Ubuntu 13.14-1)", url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	if _, ok := errors.AsType[*pg.VersionError](err); !ok {
		t.Fatalf("Open returned %v, want a *VersionError", err)
	}
	for _, word := range []string{"13.14", "14 or later", "idle_session_timeout", "client_connection_check_interval"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not contain %q", err, word)
		}
	}
}
