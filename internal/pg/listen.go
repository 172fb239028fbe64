package pg

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pause"
)

const (
	firstBackoff   = 50 * time.Millisecond
	longestBackoff = 3 * time.Second
	// hushed is how long a connection may be silent before Listen sends a ping, and how
	// long the answer may take. Keepalives do not suffice: a proxy in between answers
	// them for a server that is gone.
	hushed = 3 * time.Second
)

// ListenFuncs are the callbacks of Listen, which calls them one at a time on its own
// goroutine. Any of them may be nil.
type ListenFuncs struct {
	Notify func(channel, payload string)
	// Up follows every connect. Notifications sent while the connection was down are
	// lost, so look now for what they announced (S25).
	Up func()
	// Down follows the end of a connection and every failed attempt to connect.
	Down func(err error)
}

// Listen receives notifications on a dedicated connection until ctx ends, and returns the
// error of ctx. It reconnects without limit, unless the configuration is unusable. Callers
// must poll too: behind a pooler in transaction mode no notification arrives.
func Listen(ctx context.Context, c Config, channels []string, funcs ListenFuncs) error {
	parsed, err := c.Parse()
	if err != nil {
		return err
	}
	l := &listener{parsed: parsed, channels: channels, funcs: funcs, hushed: hushed}
	return l.run(ctx)
}

type listener struct {
	parsed   *pgx.ConnConfig
	channels []string
	funcs    ListenFuncs
	hushed   time.Duration
}

// alive frees the backend of a listener that vanished.
const alive = "SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3"

// queueSQL asks how full the queue of notifications is, and for how many pages it has room if that can be set: from Postgres 17 on. It
// names no operator, which somebody else may have made.
const queueSQL = `SELECT pg_catalog.pg_notification_queue_usage(), pg_catalog.current_setting('max_notify_queue_pages', true)`

const (
	everyPage = 1 << 20 // room of the queue before Postgres 17
	// mostPages is how many may wait where a session begins to listen. A server has it read all of them. With a queue that is full this
	// takes minutes, in a transaction that nobody can cancel and that goes on when its client has given up: each try would leave a
	// session that keeps the queue full.
	mostPages = 10_000
)

// ListenOn has a connection listen to channels, and reports whether it does: where the queue of notifications is long it does not, and
// the caller polls.
func ListenOn(ctx context.Context, conn *pgx.Conn, channels ...string) (listens bool, err error) {
	var usage float64
	var room *string
	if err := conn.QueryRow(ctx, queueSQL, pgx.QueryExecModeSimpleProtocol).Scan(&usage, &room); err != nil {
		return false, err
	}
	pages := float64(everyPage)
	if room != nil {
		if pages, err = strconv.ParseFloat(*room, 64); err != nil {
			return false, err
		}
	}
	if usage*pages >= mostPages {
		return false, nil
	}
	var sql strings.Builder
	for _, channel := range channels {
		sql.WriteString("LISTEN " + pgx.Identifier{channel}.Sanitize() + ";")
	}
	_, err = conn.Exec(ctx, sql.String())
	return err == nil, err
}

func (l *listener) run(ctx context.Context) error {
	pauses := pause.Growing{First: firstBackoff, Most: longestBackoff}
	for {
		up, err := l.line(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if l.funcs.Down != nil {
			l.funcs.Down(err)
		}
		if up {
			pauses.Reset()
		}
		// Half fixed, half random, so that after a restart of the database not all
		// listeners reconnect at once.
		wait := pauses.Next()
		if pause.For(ctx, wait/2+rand.N(wait/2)) != nil { //nolint:gosec // to spread reconnects, not to hide anything
			return ctx.Err()
		}
	}
}

// line runs one connection from its start to its end.
func (l *listener) line(ctx context.Context) (up bool, err error) {
	conn, err := connect(ctx, l.parsed)
	if err != nil {
		return false, err
	}
	defer leave(conn)
	err = l.within(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, alive)
		return err
	})
	for listens := false; !listens; {
		if err == nil {
			err = l.within(ctx, func(ctx context.Context) (err error) {
				listens, err = ListenOn(ctx, conn, l.channels...)
				return err
			})
		}
		if err == nil && !listens {
			err = pause.For(ctx, l.hushed)
		}
		if err != nil {
			return false, err
		}
	}
	if l.funcs.Up != nil {
		l.funcs.Up()
	}
	for {
		if err := l.next(ctx, conn); err != nil {
			return true, err
		}
	}
}

// next waits for one notification. After a silence it sends a ping.
func (l *listener) next(ctx context.Context, conn *pgx.Conn) error {
	wait, cancel := context.WithTimeout(ctx, l.hushed)
	defer cancel()
	heard, err := conn.WaitForNotification(wait)
	switch {
	case err == nil:
		if l.funcs.Notify != nil {
			l.funcs.Notify(heard.Channel, heard.Payload)
		}
		return nil
	case wait.Err() != nil && ctx.Err() == nil && !conn.IsClosed():
		return l.within(ctx, conn.Ping)
	}
	return err
}

func (l *listener) within(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.hushed)
	defer cancel()
	return work(ctx)
}
