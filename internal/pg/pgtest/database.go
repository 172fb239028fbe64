package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// DB is a test's database. It is dropped when the test ends.
type DB struct {
	Name string
	URL  string
}

// New makes a database from the template.
func New(t testing.TB) *DB {
	t.Helper()
	return create(t, "TEMPLATE "+templateName)
}

// Empty makes a database without tables in the given encoding, such as LATIN1.
func Empty(t testing.TB, encoding string) *DB {
	t.Helper()
	return create(t, "TEMPLATE template0 LOCALE 'C' ENCODING '"+encoding+"'")
}

func create(t testing.TB, how string) *DB {
	t.Helper()
	slow(t)
	shared.Lock()
	defer shared.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience) // of this one alone: others may wait before it
	defer cancel()
	if err := start(ctx); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	shared.count++
	db := &DB{Name: fmt.Sprintf("t%d", shared.count)}
	db.URL = shared.server.URL(db.Name)
	if _, err := shared.admin.Exec(ctx, "CREATE DATABASE "+db.Name+" "+how+strategy()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { drop(t, db.Name) })
	return db
}

// strategy copies the template as files, for a third of what writing it to the log costs. It is the
// only way before version 15.
func strategy() string {
	major := 0
	_, _ = fmt.Sscanf(shared.admin.PgConn().ParameterStatus("server_version"), "%d", &major)
	if major < 15 {
		return ""
	}
	return " STRATEGY FILE_COPY"
}

// drop ends open sessions too: a test that failed may have left some.
func drop(t testing.TB, name string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := shared.admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		t.Errorf("pgtest: %v", err)
	}
}

// Config returns the configuration of connections to the database.
func (db *DB) Config() pg.Config { return pg.Config{URL: db.URL, AppName: "conch-test"} }

// Connect opens a plain connection. It is closed when the test ends.
func (db *DB) Connect(t testing.TB) *pgx.Conn {
	t.Helper()
	return Connect(t, db.Config())
}

// Connect opens a plain connection to any server. It is closed when the test ends. Like an
// application's connection it has the search_path of its user.
func Connect(t testing.TB, cfg pg.Config) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := connect(ctx, cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = conn.Close(ctx) // some tests have killed the server
	})
	return conn
}

func connect(ctx context.Context, cfg pg.Config) (*pgx.Conn, error) {
	parsed, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, parsed)
}

// slow skips a test that needs a server under -short (make test-fast).
func slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("the test needs a real Postgres, and -short skips such tests")
	}
}

// Own starts a server without a template for this test alone, which may kill, restart or
// configure it. It stops when the test ends.
func Own(t testing.TB, cfg postmaster.Config) *postmaster.Server {
	t.Helper()
	slow(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := postmaster.Start(ctx, cfg)
	return stopped(t, server, err)
}

// Standby starts a standby of a server made by Own. It stops when the test ends.
func Standby(t testing.TB, primary *postmaster.Server, cfg postmaster.Config, f postmaster.Follow) *postmaster.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	standby, err := primary.Standby(ctx, cfg, f)
	return stopped(t, standby, err)
}

func stopped(t testing.TB, server *postmaster.Server, err error) *postmaster.Server {
	t.Helper()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	started(server)
	t.Cleanup(func() {
		defer gone(server)
		if err := server.Stop(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return server
}
