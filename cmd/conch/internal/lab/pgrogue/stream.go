package pgrogue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Stream runs clients that fence above READ COMMITTED without pause: each begins, inserts, fences,
// works for a moment, commits, and begins again. Half of them are REPEATABLE READ and half
// SERIALIZABLE. Half take their snapshot before they choose the token, and half after. Every fourth
// presents a token that is over.
type Stream struct {
	url, scope string
	cancel     context.CancelFunc
	clients    sync.WaitGroup
	tokens     atomic.Pointer[tokens]
	committed  atomic.Int64

	mu      sync.Mutex
	refused []Refusal
}

type tokens struct{ now, past token }

type token struct {
	epoch int64
	term  string
}

// Refusal is a failed transaction of a client whose token was the current one to its knowledge.
type Refusal struct {
	Epoch   int64
	Term    string
	Code    string // SQLSTATE; empty if the server did not answer
	Text    string
	At      fence.Instant // when the failure was known
	Took    time.Duration // since before the transaction began
	Current bool          // the token was current afterwards, and so all the time
}

// Serialization is the SQLSTATE of a transaction whose snapshot was too old.
const Serialization = "40001"

const (
	createStream = `CREATE TABLE IF NOT EXISTS stream (
    epoch bigint NOT NULL, term uuid NOT NULL, client text NOT NULL, stale boolean NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id())`
	streamRow = `INSERT INTO stream (epoch, term, client, stale) VALUES ($1, $2, $3, $4)`
	isCurrent = `SELECT EXISTS (SELECT FROM conch.leadership WHERE scope = $1 AND epoch = $2 AND term = $3 AND parted_at IS NULL)`

	askTokens = 2 * time.Millisecond
	atLeast   = 10 * time.Millisecond // work after the fence
	upTo      = 40 * time.Millisecond
	retry     = 20 * time.Millisecond // after a lost connection
	// keptRefusals is more than a sound run has, with one refusal per client and handover.
	keptRefusals = 10_000
)

// StreamName is the application name of the sessions.
const StreamName = "conch chaos stream"

func (s *Stream) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(s.url)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = StreamName
	return pgx.ConnectConfig(ctx, cfg)
}

// Flood starts a stream of fences of a scope, and creates the table of its rows if needed. The
// caller stops the stream.
func Flood(ctx context.Context, url, scope string, clients int) (*Stream, error) {
	s := &Stream{url: url, scope: scope}
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, createStream); err != nil {
		closeConn(conn)
		return nil, err
	}
	if err := s.readToken(ctx, conn); err != nil {
		closeConn(conn)
		return nil, err
	}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.clients.Go(func() { s.refreshTokens(ctx, conn) })
	for i := range clients {
		s.clients.Go(func() { s.client(ctx, i) })
	}
	return s, nil
}

// Committed returns the number of committed transactions.
func (s *Stream) Committed() int64 { return s.committed.Load() }

// Refused returns the number of refusals, including those whose token was replaced meanwhile.
func (s *Stream) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refused)
}

// Stop ends the stream and returns the refusals. It may be called again.
func (s *Stream) Stop() []Refusal {
	s.cancel()
	s.clients.Wait()
	return s.refused
}

// refreshTokens keeps the clients' tokens current.
func (s *Stream) refreshTokens(ctx context.Context, conn *pgx.Conn) {
	defer func() { closeConn(conn) }()
	for pause.For(ctx, askTokens) == nil {
		if s.readToken(ctx, conn) == nil || ctx.Err() != nil {
			continue
		}
		if again, err := s.connect(ctx); err == nil {
			closeConn(conn)
			conn = again
		}
	}
}

func (s *Stream) readToken(ctx context.Context, conn *pgx.Conn) error {
	var now token
	if err := conn.QueryRow(ctx, current, s.scope).Scan(&now.epoch, &now.term); err != nil {
		return err
	}
	switch known := s.tokens.Load(); {
	case known == nil: // past: a term that nobody ever had
		s.tokens.Store(&tokens{now: now, past: token{now.epoch, "00000000-0000-0000-0000-000000000000"}})
	case known.now != now:
		s.tokens.Store(&tokens{now: now, past: known.now})
	}
	return nil
}

// client runs one client, whose refusals do not stop it.
func (s *Stream) client(ctx context.Context, number int) {
	work := atLeast + (upTo-atLeast)*time.Duration(number%8)/7
	c := streamClient{s: s, name: fmt.Sprintf("client-%d", number), work: work, first: number/2%2 == 0, stale: number%4 == 3, level: pgx.RepeatableRead}
	if number%2 == 1 {
		c.level = pgx.Serializable
	}
	for ctx.Err() == nil {
		conn, err := s.connect(ctx)
		if err != nil {
			_ = pause.For(ctx, retry)
			continue
		}
		for ctx.Err() == nil && !conn.IsClosed() {
			c.once(ctx, conn)
		}
		closeConn(conn)
	}
}

// streamClient is one client and how it behaves.
type streamClient struct {
	s            *Stream
	name         string
	work         time.Duration
	level        pgx.TxIsoLevel
	first, stale bool // the snapshot is taken before the token is chosen; the token is over
}

func (c streamClient) once(ctx context.Context, conn *pgx.Conn) {
	began := fence.Boottime()
	with, err := c.transact(ctx, conn)
	switch {
	case err == nil:
		c.s.committed.Add(1)
		return
	case ctx.Err() != nil, c.stale:
		return
	}
	r := Refusal{Epoch: with.epoch, Term: with.term, Text: err.Error(), At: fence.Boottime()}
	r.Took = r.At.Sub(began)
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		r.Code = refusal.Code
	}
	if r.Code == Serialization {
		return // its snapshot was too old: begin again
	}
	r.Current = c.s.stillCurrent(ctx, conn, with)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if len(c.s.refused) < keptRefusals {
		c.s.refused = append(c.s.refused, r)
	}
}

// transact runs one transaction and returns its token.
func (c streamClient) transact(ctx context.Context, conn *pgx.Conn) (with token, err error) {
	choose := func() token {
		t := c.s.tokens.Load()
		if c.stale {
			return t.past
		}
		return t.now
	}
	with = choose()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: c.level})
	if err != nil {
		return with, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = tx.Rollback(ctx) // does nothing after the end
	}()
	if c.first {
		if _, err := tx.Exec(ctx, `SELECT FROM conch.leadership LIMIT 0`); err != nil {
			return with, err
		}
		with = choose()
	}
	if _, err := tx.Exec(ctx, streamRow, with.epoch, with.term, c.name, c.stale); err != nil {
		return with, err
	}
	if _, err := tx.Exec(ctx, strayFence, c.s.scope, with.epoch, with.term); err != nil {
		return with, err
	}
	_ = pause.For(ctx, c.work)
	return with, tx.Commit(ctx)
}

// stillCurrent asks in a new snapshot. Terms never come back, so a term that is current now was
// current when it was presented.
func (s *Stream) stillCurrent(ctx context.Context, conn *pgx.Conn, t token) (yes bool) {
	if conn.IsClosed() {
		again, err := s.connect(ctx)
		if err != nil {
			return false
		}
		defer closeConn(again)
		conn = again
	}
	return conn.QueryRow(ctx, isCurrent, s.scope, t.epoch, t.term).Scan(&yes) == nil && yes
}

// Streamed is a committed row of a stream.
type Streamed struct {
	evidence.Row
	Stale bool // its client knew that the token was over
}

// ReadStream returns the rows of all streams in the order in which their transactions began to
// write; none if there was no stream.
func ReadStream(ctx context.Context, url string) ([]Streamed, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer closeConn(conn)
	var name *string
	if err := conn.QueryRow(ctx, `SELECT to_regclass('stream')::text`).Scan(&name); err != nil || name == nil {
		return nil, err
	}
	rows, _ := conn.Query(ctx, `SELECT epoch, term::text, client, stale FROM stream ORDER BY xid`) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Streamed, err error) {
		err = row.Scan(&r.Epoch, &r.Term, &r.Node, &r.Stale)
		return r, err
	})
}
