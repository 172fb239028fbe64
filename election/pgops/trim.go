package pgops

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// Trimmer deletes old rows of the history, and requests to leaders that have ended. It is not safe for concurrent use.
type Trimmer struct{ conn *pgx.Conn }

// OpenTrimmer connects.
func OpenTrimmer(ctx context.Context, cfg pgmint.Config) (*Trimmer, error) {
	at := cfg.Connection(" trim")
	at.Unnamed = true
	conn, err := pg.Connect(ctx, at)
	if err != nil {
		return nil, err
	}
	return &Trimmer{conn}, nil
}

// Close ends the connection.
func (t *Trimmer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.conn.Close(ctx)
}

// mostTrimmed is how many rows of a table are deleted in one transaction.
const mostTrimmed = 1000

// Trimmed is what one transaction has deleted.
type Trimmed struct {
	History  int   // rows of the history
	Requests int   // to leaders, that have ended
	Next     int64 // the id to go on after
	More     bool  // there may be more
}

// Trim deletes some rows from before an instant, and nothing from after the database's clock: of the history those whose ids come next after one. What a scope's last term has
// written stays. The error wraps [fence.ErrStale] if the token is over: then nothing is deleted.
func (t *Trimmer) Trim(ctx context.Context, token fence.Token, before time.Time, after int64) (done Trimmed, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT gone, requests, upto FROM conch.history_trim($1, $2, $3)`, before, after, mostTrimmed).QueryRow(func(row pgx.Row) error {
		return row.Scan(&done.History, &done.Requests, &done.Next)
	})
	pgfence.Queue(&batch, token)
	err = pg.Confirmed(t.conn, func() error { return t.conn.SendBatch(ctx, &batch).Close() })
	if err := pgfence.Stale(err); err != nil {
		return Trimmed{}, err
	}
	done.More = done.Next > 0 || max(done.History, done.Requests) >= mostTrimmed
	return done, nil
}
