package pgraw

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

const (
	loadTable  = `CREATE TABLE payload (session int NOT NULL, seq bigint NOT NULL, note text NOT NULL, at timestamptz NOT NULL DEFAULT now())`
	loadInsert = `INSERT INTO payload (session, seq, note) VALUES ($1, $2, $3)`
	// A function in FROM is called once, and without it no row is inserted.
	loadInside = `INSERT INTO payload (session, seq, note) SELECT $1::int, $2::bigint, $3::text FROM conch.fence($4, $5, $6)`
	// A transfer moves money between two accounts and records it in a row.
	loadAccounts = `CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50);
		INSERT INTO account SELECT g, 1000000 FROM generate_series(1, 10000) g`
	loadMove = `UPDATE account SET balance = balance + $2 WHERE id = $1 RETURNING balance`
	accounts = 10000
	lastRow  = 10 * time.Second // for a row in progress at the end
	// The fence sets no timeout where one is set already (docs/operations.md).
	loadIdle = "2s"
	loadNote = "one hundred bytes of what a small row of somebody's books may look like, an order or a line of one.."
)

// Style is one way to write a row.
type Style struct {
	Fenced    bool // conch.fence() is the last statement, sent with the COMMIT
	Inside    bool // the INSERT is the whole transaction and contains the fence
	Pipelined bool // one round trip; otherwise one for each of BEGIN, INSERT, COMMIT
	Transfer  bool // two accounts change and a row is written, one statement each
	Async     bool // synchronous_commit off, so that no wait for the disk hides the cost of the fence
}

// Load is a set of sessions that each write as fast as they can, one row per transaction.
type Load struct {
	sessions []*pgx.Conn
	token    atomic.Pointer[fence.Token]
	seq      atomic.Int64
	done     atomic.Int64
}

// OpenLoad creates the tables and connects the sessions.
func OpenLoad(ctx context.Context, url string, sessions int) (*Load, error) {
	for _, sql := range []string{loadTable, loadAccounts} {
		if err := admin(ctx, url, sql); err != nil {
			return nil, err
		}
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = loadIdle
	l := &Load{}
	for range sessions {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err != nil {
			l.Close()
			return nil, err
		}
		l.sessions = append(l.sessions, conn)
		for _, sql := range []string{loadInsert, loadInside, loadMove, pgfence.SQL} {
			if _, err := conn.Prepare(ctx, sql, sql); err != nil {
				l.Close()
				return nil, err
			}
		}
	}
	return l, nil
}

// Close closes the sessions.
func (l *Load) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, conn := range l.sessions {
		_ = conn.Close(ctx)
	}
}

// Use sets the token for fenced rows, from the next row on.
func (l *Load) Use(t fence.Token) { l.token.Store(&t) }

// Written returns the number of committed transactions.
func (l *Load) Written() int64 { return l.done.Load() }

// Prepare configures the sessions for a style, before the time of a Run is counted.
func (l *Load) Prepare(ctx context.Context, style Style) error {
	mode := "on"
	if style.Async {
		mode = "off"
	}
	for _, conn := range l.sessions {
		if _, err := conn.Exec(ctx, "SET synchronous_commit = "+mode); err != nil {
			return err
		}
	}
	return nil
}

// Run writes until ctx ends or no session is left. It returns the transactions per second and
// each session's error, nil if ctx ended it. A session stops when its row is refused with
// [fence.ErrStale], since its token is over.
func (l *Load) Run(ctx context.Context, style Style) (perSecond float64, ends []error) {
	before, began := l.done.Load(), time.Now()
	var group sync.WaitGroup
	ends = make([]error, len(l.sessions))
	over := make(chan struct{})
	defer close(over)
	uncut := context.AfterFunc(ctx, func() { l.cut(over) })
	defer uncut()
	for i, conn := range l.sessions {
		group.Go(func() {
			for ctx.Err() == nil {
				// Not cancelled in the middle, which would cost the connection.
				if err := l.write(context.WithoutCancel(ctx), conn, i, style); err != nil {
					ends[i] = fmt.Errorf("writing a row: %w", err)
					return
				}
				l.done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(l.done.Load()-before) / time.Since(began).Seconds(), ends
}

// cut interrupts rows that are still in progress after lastRow, through the connection: a
// context for each row would cost a goroutine and spoil the figures.
func (l *Load) cut(over <-chan struct{}) {
	timer := time.NewTimer(lastRow)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
		for _, conn := range l.sessions {
			_ = conn.PgConn().Conn().SetDeadline(time.Unix(1, 0))
		}
	}
}

func (l *Load) write(ctx context.Context, conn *pgx.Conn, session int, style Style) error {
	seq, t := l.seq.Add(1), l.token.Load()
	if style.Inside {
		sql, args := loadInsert, []any{session, seq, loadNote}
		if style.Fenced {
			sql, args = loadInside, append(args, t.Scope, t.Epoch, [16]byte(t.Term))
		}
		_, err := conn.Exec(ctx, sql, args...)
		return pgfence.Stale(err)
	}
	if style.Pipelined {
		var batch pgx.Batch
		batch.Queue(loadInsert, session, seq, loadNote)
		if style.Fenced {
			pgfence.Queue(&batch, *t)
		}
		return pgfence.Stale(conn.SendBatch(ctx, &batch).Close())
	}
	write := func(tx pgfence.Tx) error {
		if style.Transfer {
			if err := move(ctx, tx, seq); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, loadInsert, session, seq, loadNote)
		return err
	}
	if style.Fenced {
		return pgfence.Transact(ctx, conn, *t, write)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return write(tx) })
}

// move moves money between two accounts, the lower number first, so that no two transactions
// wait for each other.
func move(ctx context.Context, tx pgfence.Tx, seq int64) error {
	a, b := seq*7919%accounts+1, seq*104729%accounts+1
	for _, one := range []struct{ id, amount int64 }{{min(a, b), -1}, {max(a, b), 1}} {
		var balance int64
		if err := tx.QueryRow(ctx, loadMove, one.id, one.amount).Scan(&balance); err != nil {
			return err
		}
	}
	return nil
}

// Token reads the token of a scope's current leadership: one of epoch 0 if nobody leads it.
func (a *Admin) Token(ctx context.Context, scope string) (t fence.Token, err error) {
	t.Scope = scope
	err = a.conn.QueryRow(ctx, `SELECT epoch, term, holder FROM conch.leadership WHERE scope = $1 AND parted_at IS NULL`, scope).
		Scan(&t.Epoch, (*[16]byte)(&t.Term), &t.Holder)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return t, err
}
