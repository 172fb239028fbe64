package pgrogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// noRoom is the SQLSTATE of a commit that notifies while the queue of notifications is full.
const noRoom = "54000"

// FillNotifications has one session listen and stay in a transaction, and notifies until the server refuses: its one queue is full then,
// for all databases, until Release. Before Postgres 17 that takes 8 GB of its disk.
func FillNotifications(ctx context.Context, url string) (*Hog, error) {
	ear, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	h := &Hog{conn: ear}
	if _, err = ear.Exec(ctx, `SET application_name = 'conch chaos ear'; LISTEN conch_chaos`); err == nil {
		_, err = ear.Exec(ctx, `BEGIN; SELECT 1`)
	}
	if err == nil {
		err = with(ctx, url, func(conn *pgx.Conn) (err error) {
			for err == nil { // each one fills a page
				_, err = conn.Exec(ctx, `SELECT pg_notify('conch_chaos', lpad(n::text, 7900, '.')) FROM generate_series(1, 1000) n`)
			}
			return err
		})
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == noRoom {
		return h, nil
	}
	h.Release()
	return nil, fmt.Errorf("the queue of notifications was not filled: %w", err)
}

// ShrinkNotifications has that queue be the smallest that the server can have from its next start on. It reports whether the server can:
// from Postgres 17 on.
func ShrinkNotifications(ctx context.Context, url string) (can bool, err error) {
	err = with(ctx, url, func(conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_settings WHERE name = 'max_notify_queue_pages')`).Scan(&can)
		if err == nil && can {
			_, err = conn.Exec(ctx, `ALTER SYSTEM SET max_notify_queue_pages = 64`)
		}
		return err
	})
	return can, err
}

// Mute keeps conch from sending notifications, or lets it again, as its triggers do while the server's
// queue is half full.
func Mute(ctx context.Context, url string, mute bool) error {
	verb := "ENABLE"
	if mute {
		verb = "DISABLE"
	}
	return with(ctx, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `ALTER TABLE conch.leadership `+verb+` TRIGGER announce; ALTER TABLE conch.command `+verb+` TRIGGER announce_command`)
		return err
	})
}
