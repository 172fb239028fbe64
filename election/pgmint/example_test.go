package pgmint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// A service that leads and hands a gate to its work.
func Example() {
	mint, err := pgmint.New(pgmint.Config{URL: os.Getenv("CONCH_DB_URL")})
	if err != nil {
		log.Fatal(err)
	}
	defer mint.Close()

	e, err := election.New(election.Config{
		Mint: mint,
		Roles: []election.Role{{
			Scope: "reports",
			Lead: func(ctx context.Context, l election.Leadership) error {
				return l.Gate.Do(ctx, fence.Act, time.Second, func(context.Context, fence.Token) error {
					fmt.Println("one report, from one process")
					return nil
				}) // returning gives the leadership up
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Hour, cancel)
	if err := e.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A transaction that is committed only if the token is the current one.
func ExampleTransact() {
	pay := func(ctx context.Context, conn *pgx.Conn, token fence.Token) error {
		return pgmint.Transact(ctx, conn, token, func(tx pgmint.Tx) error {
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
			return pgmint.Fence(ctx, tx, token) // last, right before the commit
		})
	}
	_ = pay
}
