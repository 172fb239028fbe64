//go:build linux

package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// The tests' own peers are this binary under other names. The candidate that locks a file leads.
const (
	honest   = "honest"   // ends when asked to
	lingerer = "lingerer" // releases the lock when asked to end, and goes on
	quitter  = "quitter"  // its second member ends by itself
)

func TestMain(m *testing.M) {
	if peer, is := strings.CutPrefix(filepath.Base(os.Args[0]), "contender-"); is {
		if err := contend(peer, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// contend runs a candidate with the arguments of a part's command.
func contend(peer string, args []string) error {
	given := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	if peer == quitter && given["--id"] == "node-2" {
		return fmt.Errorf("there is no licence for a second member")
	}
	pace, err := time.ParseDuration(given["--pace"])
	if err != nil {
		return err
	}
	out, err := os.OpenFile(given["--file"], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(given["--file"]+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	told := make(chan os.Signal, 1)
	if peer == lingerer {
		signal.Notify(told, syscall.SIGTERM)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-told:
			if err := lock.Close(); err != nil { // which releases the lock
				return err
			}
			tick.Reset(300 * time.Millisecond)
		case <-tick.C:
			now := fence.Boottime()
			line, err := json.Marshal(act{Node: given["--id"], Start: now, End: now})
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
}

// A late commit is stale, whenever its row began.
func TestALateCommitIsStale(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	own := settings()
	maps.DeleteFunc(own, func(name, _ string) bool { return name == "shared_preload_libraries" }) // from a package that not every system has
	server, err := postmaster.Start(ctx, postmaster.Config{Settings: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &store{url: server.URL("postgres")}
	open := func() *pgx.Conn {
		conn, err := pgx.Connect(ctx, s.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
		return conn
	}
	seq := 0
	row := func(conn *pgx.Conn, epoch int) {
		t.Helper()
		seq++
		_, err := conn.Exec(ctx, `INSERT INTO ledger (seq, epoch, term, node) VALUES ($1, $2, gen_random_uuid(), 'x')`, seq, epoch)
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(stale int, when string) {
		t.Helper()
		if n, err := s.stale(ctx); err != nil || n != stale {
			t.Errorf("%s: got %d stale rows, want %d: %v", when, n, stale, err)
		}
	}
	one, two := open(), open()
	if _, err := one.Exec(ctx, ledger); err != nil {
		t.Fatal(err)
	}
	row(one, 1)
	row(two, 2)
	row(two, 2)
	want(0, "in order")
	tx, err := one.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	row(one, 2)
	row(two, 3)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want(1, "begun before a row of epoch 3 and committed after it")
	row(two, 1)
	want(2, "begun and committed after it")
}
