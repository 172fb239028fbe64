package pgfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

// With pgx: the transaction commits only if the token is the current one.
func ExampleTransact() {
	pay := func(ctx context.Context, conn *pgx.Conn, token fence.Token) error {
		return pgfence.Transact(ctx, conn, token, func(tx pgfence.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE accounts SET balance = balance - 1 WHERE id = 7`)
			return err
		})
	}
	_ = pay
}

// With a pool of pgx: acquire a connection and pass its Conn.
func ExampleTransact_pool() {
	pay := func(ctx context.Context, pool *pgxpool.Pool, token fence.Token) error {
		return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			return pgfence.Transact(ctx, c.Conn(), token, func(tx pgfence.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE accounts SET balance = balance - 1 WHERE id = 7`)
				return err
			})
		})
	}
	_ = pay
}

// With pgx, in a transaction that other code begins and ends.
func ExampleFence() {
	pay := func(ctx context.Context, conn *pgx.Conn, token fence.Token) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE accounts SET balance = balance - 1 WHERE id = 7`); err != nil {
				return err
			}
			return pgfence.Fence(ctx, tx, token) // last, right before the commit
		})
	}
	_ = pay
}

// With database/sql, by lib/pq, pgx's stdlib or any other driver.
func ExampleTransactSQL() {
	pay := func(ctx context.Context, db *sql.DB, token fence.Token, amount int) error {
		return pgfence.TransactSQL(ctx, db, nil, token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO payments (amount) VALUES ($1)`, amount)
			return err
		})
	}
	_ = pay
}

// With database/sql, in a transaction that other code has begun. sqlx has the same methods.
func ExampleSQL() {
	commit := func(ctx context.Context, tx *sql.Tx, token fence.Token) error {
		defer func() { _ = tx.Rollback() }() // it does nothing after the commit
		if _, err := tx.ExecContext(ctx, pgfence.SQL, token.Scope, token.Epoch, token.Term); err != nil {
			return pgfence.Stale(err)
		}
		return pgfence.Stale(tx.Commit())
	}
	_ = commit
}

// Stale finds the refusal of the fence in an error of any layer.
func ExampleStale() {
	refused := &pgconn.PgError{Code: pgfence.CodeStale, Message: "stale leadership of scope 'payments'"}
	err := pgfence.Stale(fmt.Errorf("paying: %w", refused))
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("this leadership is over: do not try again")
	}
	// Output: this leadership is over: do not try again
}
