package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

const (
	patience     = 30 * time.Second
	sharedConns  = 400 // sixteen tests have pools at once
	templateName = "conch_template"
)

// shared is the server of this test binary. The lock also serialises CREATE and
// DROP DATABASE, which share the one admin connection.
var shared struct {
	sync.Mutex
	server  *postmaster.Server
	admin   *pgx.Conn
	prepare func(context.Context, *pgx.Conn) error
	count   int
	err     error
}

// Main runs the tests, many at once since they wait for the server, stops it, checks for leaked goroutines, and exits.
func Main(m *testing.M) {
	runtest.MostlyWait()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	unwatch := watch()
	defer unwatch()
	code := m.Run()
	err := stop()
	if code == 0 {
		err = errors.Join(err, goleak.Find())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	return code
}

// Template registers the function that fills the template of this binary's databases,
// usually with the migrations of a wing. Call it before the first New, in TestMain.
func Template(prepare func(context.Context, *pgx.Conn) error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		panic("pgtest: Template was called after New: the template is made already")
	}
	shared.prepare = prepare
}

// start starts the server. The caller holds the lock. It fails once and for all, so that not
// every test waits for the same fault.
func start(ctx context.Context) error {
	if shared.server != nil || shared.err != nil {
		return shared.err
	}
	shared.server, shared.err = postmaster.Start(ctx, postmaster.Config{
		MaxConnections: sharedConns,
		// Autovacuum would add to the work that tests count.
		Settings: map[string]string{"autovacuum": "off"},
	})
	if shared.err != nil {
		return shared.err
	}
	started(shared.server)
	shared.admin, shared.err = connect(ctx, pg.Config{URL: shared.server.URL("postgres")})
	if shared.err == nil {
		shared.err = makeTemplate(ctx)
	}
	return shared.err
}

func makeTemplate(ctx context.Context) error {
	if _, err := shared.admin.Exec(ctx, "CREATE DATABASE "+templateName); err != nil {
		return err
	}
	if shared.prepare == nil {
		return nil
	}
	conn, err := connect(ctx, pg.Config{URL: shared.server.URL(templateName)})
	if err != nil {
		return err
	}
	if err := shared.prepare(ctx, conn); err != nil {
		return errors.Join(fmt.Errorf("preparing the template: %w", err), conn.Close(ctx))
	}
	return conn.Close(ctx)
}

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var faults []error
	if shared.admin != nil {
		faults = append(faults, shared.admin.Close(ctx))
	}
	if shared.server != nil {
		faults = append(faults, shared.server.Stop())
	}
	return errors.Join(faults...)
}
