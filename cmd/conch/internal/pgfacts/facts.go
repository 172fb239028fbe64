// Package pgfacts gathers the facts about a database and this machine that package doctor judges.
// It changes nothing, but for a moment it opens the session that a node would.
package pgfacts

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/internal/pg"
)

// lease is that of the trial session; any would do.
const lease = 3 * time.Second

// Gather gathers the facts. If it cannot connect, it returns that error, and the facts say so too,
// with what is known without the database.
func Gather(ctx context.Context, cfg pgmint.Config) (doctor.Facts, error) {
	base := pg.Config{URL: cfg.URL, TLSInsecure: cfg.TLSInsecure, TLSCAFile: cfg.TLSCAFile, AppName: "conch doctor"}
	f := doctor.Facts{
		Target: base.Redact(), Unread: map[string]string{}, Boottime: fence.Boottime() != math.MaxInt64,
		Oldest: pgmint.Tables.Oldest, Newest: pgmint.Tables.Newest(),
	}
	conn, err := pg.Connect(ctx, base)
	if err != nil {
		f.Unreachable = pg.Sentence(err)
		return f, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	f.Target, f.Line = pg.Target(conn), line(conn)
	g := gatherer{conn: conn, f: &f}
	g.read(ctx, "server", &f.Server, serverSQL)
	// Before the session, which the server may count for a moment after its end.
	g.read(ctx, "locks", &f.Room, roomSQL)
	f.Unread["connections"] = f.Unread["locks"]
	g.session(ctx, base)
	if f.Addresses, f.Unusable, err = pg.Addresses(ctx, base); err != nil {
		f.Unread["addresses"] = pg.Sentence(err)
	}
	if f.Schema, err = pgmint.Tables.Version(ctx, conn); err != nil {
		f.Unread["schema"] = pg.Sentence(err)
		f.Schema = pgmint.Tables.Oldest // the schema exists, or reading it could not fail
	}
	g.clock(ctx)
	g.read(ctx, "replication", &f.Standbys, standbysSQL)
	g.read(ctx, "settings", &f.Settings, settingsSQL)
	g.read(ctx, "tables", &f.Tables, tablesSQL)
	g.read(ctx, "notifications", &f.Queue, queueSQL)
	g.locks(ctx)
	if f.Schema > 0 {
		g.schema(ctx)
	}
	return f, nil
}

type gatherer struct {
	conn *pgx.Conn
	f    *doctor.Facts
}

// schema gathers the facts that need the schema.
func (g gatherer) schema(ctx context.Context) {
	f := g.f
	g.read(ctx, "privileges", &f.Privileges, privilegesSQL)
	g.read(ctx, "privileges", &f.Immortal, immortalSQL)
	g.read(ctx, "durability", &f.Unlogged, unloggedSQL)
	g.read(ctx, "guards", &f.Disarmed, disarmedSQL)
	for _, name := range f.Disarmed {
		f.Rearm = append(f.Rearm, pgmint.TriggerSQL(name))
	}
	g.read(ctx, "holders", &f.Leaderships, leadershipsSQL)
	g.read(ctx, "identities", &f.Processes, processesSQL)
	f.Unread["history"], f.Unread["roles"] = f.Unread["holders"], f.Unread["holders"]
	if f.Unread["takeover"] = f.Unread["holders"]; f.Unread["takeover"] == "" {
		f.Unread["takeover"] = f.Unread["identities"]
	}
	f.Unread["leaders"], f.Unread["logs"] = f.Unread["takeover"], f.Unread["identities"]
}

// read runs a query whose result is one JSON document. The simple protocol needs no prepared
// statement, which some poolers lose.
func (g gatherer) read(ctx context.Context, check string, into any, sql string) {
	err := g.conn.QueryRow(ctx, sql, pgx.QueryExecModeSimpleProtocol).Scan(into)
	if err != nil && g.f.Unread[check] == "" {
		g.f.Unread[check] = pg.Sentence(err)
	}
}

// locks lists what locks tables; one that has just begun may be over in a moment.
func (g gatherer) locks(ctx context.Context) {
	found, err := pg.TableLocks(ctx, g.conn, false)
	if err != nil {
		g.f.Unread["waits"] = pg.Sentence(err)
	}
	for _, l := range found {
		if l.Seconds != 0 {
			g.f.Locked = append(g.f.Locked, l.String())
		}
	}
}

// session opens and closes the session that a node would keep.
func (g gatherer) session(ctx context.Context, base pg.Config) {
	s, err := pg.Open(ctx, base, pg.Settings{Lease: lease})
	if err != nil {
		g.f.Session = pg.Sentence(err)
		if refused, ok := errors.AsType[*pg.PoolerError](err); ok {
			g.f.Pooler, g.f.Product = refused.Mode, refused.Name
		}
		return
	}
	if s.Pooler() {
		g.f.Pooler, g.f.Product = "session", pg.PoolerName(ctx, base)
	}
	_ = s.Close(context.WithoutCancel(ctx))
}

// clock compares the clocks at the middle of the query, as NTP does.
func (g gatherer) clock(ctx context.Context) {
	var there time.Time
	for range 3 { // the quickest answer is the most exact
		before := time.Now()
		if err := g.conn.QueryRow(ctx, `SELECT clock_timestamp()`, pgx.QueryExecModeSimpleProtocol).Scan(&there); err != nil {
			g.f.Unread["clock"] = pg.Sentence(err)
			return
		}
		span := time.Since(before)
		if g.f.ClockSpan == 0 || span < g.f.ClockSpan {
			g.f.ClockSpan, g.f.ClockAhead = span, there.Sub(before.Add(span/2).Round(0))
		}
	}
}

func line(conn *pgx.Conn) (l doctor.Line) {
	raw := conn.PgConn().Conn()
	if secured, ok := raw.(*tls.Conn); ok {
		l.TLS, raw = true, secured.NetConn()
		if chain := pg.Verified(conn); len(chain) > 0 {
			l.Verified, l.Certificate = true, expiry.Judge(chain, time.Now())
		}
	}
	switch at := raw.RemoteAddr().(type) {
	case *net.UnixAddr:
		l.Local = true
	case *net.TCPAddr:
		l.Local = at.IP.IsLoopback()
	}
	return l
}
