package pgfence_test

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

// A transaction that is committed only if the token is the current one.
func ExampleTransact() {
	pay := func(ctx context.Context, conn *pgx.Conn, token fence.Token) error {
		return pgfence.Transact(ctx, conn, token, func(tx pgfence.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE accounts SET balance = balance - 1 WHERE id = 7`)
			return err
		})
	}
	_ = pay
}

// The same in a transaction that somebody else begins and ends.
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

// By database/sql, with lib/pq, pgx's stdlib, or any other driver.
func ExampleTransactSQL() {
	pay := func(ctx context.Context, db *sql.DB, token fence.Token, amount int) error {
		return pgfence.TransactSQL(ctx, db, nil, token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO payments (amount) VALUES ($1)`, amount)
			return err
		})
	}
	_ = pay
}

// sqlx and GORM begin transactions of their own. The fence is their last statement, and
// its refusal is recognised wherever it surfaces:
//
//	err := gormDB.Transaction(func(tx *gorm.DB) error {
//		if err := tx.Create(&payment).Error; err != nil {
//			return err
//		}
//		return tx.Exec("SELECT conch.fence(?, ?, ?)", token.Scope, token.Epoch, token.Term).Error
//	})
//	err = pgfence.Stale(err)
//
//	tx := sqlxDB.MustBeginTx(ctx, nil)
//	defer tx.Rollback()
//	tx.MustExecContext(ctx, insert, payment)
//	_, err = tx.ExecContext(ctx, pgfence.SQL, token.Scope, token.Epoch, token.Term)
//	err = pgfence.Stale(errors.Join(err, tx.Commit()))
func ExampleStale() {
	pay := func(tx *sql.Tx, token fence.Token) error {
		if _, err := tx.Exec(pgfence.SQL, token.Scope, token.Epoch, token.Term); err != nil {
			return pgfence.Stale(err) // fence.ErrStale: somebody else leads, so do not try again
		}
		return pgfence.Stale(tx.Commit())
	}
	_ = pay
}
