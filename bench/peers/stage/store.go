//go:build linux

package stage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// store is where a part's candidates compete: a database, or etcd.
type store struct {
	target string // address for proxies
	url    string // URL without a proxy; empty for etcd
	etcd   string // address for etcd's clients
}

// startPostgres starts the shared server, on a disk, with fsync on.
func startPostgres(ctx context.Context) (*postmaster.Server, error) {
	dir, err := os.MkdirTemp("", "conch-peers-data-")
	if err != nil {
		return nil, err
	}
	return postmaster.Start(ctx, postmaster.Config{Dir: dir, Fsync: true, MaxConnections: 300, Settings: settings()})
}

func settings() map[string]string {
	return map[string]string{
		"shared_preload_libraries": "pg_stat_statements", "shared_buffers": "128MB",
		"track_commit_timestamp": "on", // for the order in which rows were committed
	}
}

// database creates a part's database with the tables of its library.
func database(ctx context.Context, server *postmaster.Server, p part, number int, schema func(context.Context, *pgxpool.Pool) error) (*store, error) {
	admin, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	name := "peer_" + strconv.Itoa(number)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	if _, err := admin.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"); err != nil {
		return nil, err
	}
	s := &store{target: server.SocketPath(), url: server.URL(name)}
	pool, err := pgxpool.New(ctx, s.url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	switch {
	case p.conch:
		if err := pgmint.Up(ctx, pgmint.Config{URL: s.url}, func(string) {}); err != nil {
			return nil, err
		}
		_, err = pool.Exec(ctx, ledger)
	case schema != nil:
		err = schema(ctx, pool)
	}
	return s, err
}

// ledger is the table that conch's workers write under conch.fence(), as in conch demo.
const ledger = `
CREATE TABLE ledger (
    seq bigint NOT NULL, epoch bigint NOT NULL, term uuid NOT NULL, node text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX ledger_seq ON ledger (seq);`

// through returns the URL through a proxy.
func (s *store) through(proxy string) string {
	if s.url == "" {
		return proxy
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("postgres://%s@%s%s?sslmode=disable", postmaster.Superuser, proxy, u.Path)
}

// asked returns the number of statements, or requests, of the store so far.
func (s *store) asked(ctx context.Context) (n float64, err error) {
	if s.url == "" {
		return etcdRequests(ctx, s.etcd)
	}
	conn, err := pgx.Connect(ctx, strings.Replace(s.url, s.url[strings.LastIndex(s.url, "/peer_"):strings.Index(s.url, "?")], "/postgres", 1))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	u, _ := url.Parse(s.url)
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1`,
		strings.TrimPrefix(u.Path, "/")).Scan(&n)
	return n, err
}

// stale counts rows that were committed after a row of a higher epoch, by the server's commit
// timestamps: numbers of rows and transactions only say when they began.
func (s *store) stale(ctx context.Context) (n int, err error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, `SELECT count(*) FROM (SELECT epoch, max(epoch) OVER
		(ORDER BY pg_xact_commit_timestamp(xmin), xid, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
		FROM ledger) r WHERE epoch < before`).Scan(&n)
	return n, err
}

// etcdRequests returns the number of messages in the server's own metrics.
func etcdRequests(ctx context.Context, addr string) (n float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "grpc_server_msg_received_total{") {
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				return 0, err
			}
			n += v
		}
	}
	return n, nil
}

func startEtcd(ctx context.Context, cfg Config, dir string) (*store, *fleet.Process, error) {
	addr, err := fleet.LowPort(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := cfg.launcher.Launch(fleet.Command{Program: cfg.Self, Args: []string{"etcd", "--dir", dir, "--listen", addr}})
	if err != nil {
		return nil, nil, err
	}
	for {
		if n, err := etcdRequests(ctx, addr); err == nil && n >= 0 {
			return &store{target: addr, etcd: addr}, p, nil
		}
		select {
		case <-p.Over():
			return nil, nil, errors.New("etcd ended: " + p.LastWords())
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
