// Package pgnotes makes the databases of several organisations on one server, and reads from them what their nodes know
// of the notes of contracts. It reads the tables directly and shares no code with what fills them.
package pgnotes

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// Copy makes databases as copies of another one, which nobody may be using.
func Copy(ctx context.Context, url, template string, names ...string) error {
	return with(ctx, url, func(conn *pgx.Conn) error {
		for _, name := range names {
			if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Create makes an empty database.
func Create(ctx context.Context, url, name string) error {
	return with(ctx, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
		return err
	})
}

// Save keeps a copy of a database, whose programs have ended. What they have left is disconnected.
func Save(ctx context.Context, url, name, as string) error {
	return with(ctx, url, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{as}.Sanitize()); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", name); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{as}.Sanitize()+" TEMPLATE "+pgx.Identifier{name}.Sanitize())
		return err
	})
}

// PutBack puts a copy in the place of its database.
func PutBack(ctx context.Context, url, name, from string) error {
	return with(ctx, url, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "ALTER DATABASE "+pgx.Identifier{from}.Sanitize()+" RENAME TO "+pgx.Identifier{name}.Sanitize())
		return err
	})
}

func with(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}

// Reader is one connection to the database of a node. It must not be used concurrently.
type Reader struct {
	conn     *pgx.Conn
	contract string
}

// Open connects to read what a node knows of a contract.
func Open(ctx context.Context, url, contract string) (*Reader, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Reader{conn, contract}, nil
}

// Close closes the connection.
func (r *Reader) Close(ctx context.Context) { _ = r.conn.Close(ctx) }

// DispatchSince returns when the node has stored its first dispatch after an instant; the zero time if there is none. It
// has to be asked while dispatches are under way: a node forgets them once they are final.
func (r *Reader) DispatchSince(ctx context.Context, at time.Time) (time.Time, error) {
	var first *time.Time
	err := r.conn.QueryRow(ctx, `SELECT min(created_at) FROM conch.sequencer_dispatches WHERE contract = $1 AND created_at > $2`, r.contract, at).Scan(&first)
	if err != nil || first == nil {
		return time.Time{}, err
	}
	return *first, nil
}

// Progress is how far a node's book is.
type Progress struct {
	Final   uint64 // the last block that is in it
	Missing int    // attempts that have landed, whose contents the node lacks
}

// Progress returns how far the node's book is.
func (r *Reader) Progress(ctx context.Context) (p Progress, err error) {
	var final int64
	err = r.conn.QueryRow(ctx, `
		SELECT coalesce((SELECT final FROM conch.sequencer_contracts WHERE contract = $1), 0),
		       (SELECT count(*) FROM conch.sequencer_missing WHERE contract = $1)`, r.contract).Scan(&final, &p.Missing)
	p.Final = uint64(final)
	return p, err
}

// Openings returns the states that are unspent by the node's book.
func (r *Reader) Openings(ctx context.Context, node string) ([]auditor.Opening, error) {
	rows, _ := r.conn.Query(ctx, `SELECT id, salt, data FROM conch.sequencer_states WHERE contract = $1 ORDER BY id`, r.contract) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (auditor.Opening, error) {
		o, id := auditor.Opening{Node: node}, []byte(nil)
		err := row.Scan(&id, &o.Salt, &o.Data)
		o.State = "0x" + hex.EncodeToString(id)
		return o, err
	})
}
