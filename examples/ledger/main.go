// Ledger appends a payment every 100 ms from exactly one of several processes.
// Each payment and its fence are one transaction, so a process whose leadership is
// over cannot write, even if it was frozen during the transaction.
//
//	conch --db "$CONCH_DB_URL" migrate up
//	go run ./examples/ledger     # in three terminals; then kill -9 the one that pays
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("CONCH_DB_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	mint, err := pgmint.New(pgmint.Config{URL: url})
	if err != nil {
		return err
	}
	defer mint.Close()
	elector, err := election.New(election.Config{
		Mint: mint,
		ID:   election.Identity("ledger"),
		Roles: []election.Role{{
			Scope: "example-ledger",
			// The fenced door: the database refuses the payments of a former leader,
			// so this process need not wait until its predecessor's gate is shut.
			Fenced: func(ctx context.Context, l election.Leadership) error { return pay(ctx, url, l) },
		}},
	})
	if err != nil {
		return err
	}
	return elector.Run(ctx) // until ctx ends; then it hands over
}

// pay is the role: it runs while this process leads and returns when ctx ends.
func pay(ctx context.Context, url string, l election.Leadership) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS payments (id bigserial, epoch bigint, at timestamptz DEFAULT now())`); err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := payOnce(ctx, conn, l)
		switch {
		case errors.Is(err, fence.ErrShut):
			// The heartbeats are late: the gate may open again in the same term.
		case err != nil:
			return err // the token is stale or the database is gone: give the leadership up
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func payOnce(ctx context.Context, conn *pgx.Conn, l election.Leadership) error {
	return l.Gate.Do(ctx, fence.Fenced, time.Second, func(ctx context.Context, token fence.Token) error {
		var id int64
		err := pgfence.Transact(ctx, conn, token, func(tx pgfence.Tx) error { // sends the fence with the commit
			return tx.QueryRow(ctx, `INSERT INTO payments (epoch) VALUES ($1) RETURNING id`, token.Epoch).Scan(&id)
		})
		if err == nil {
			fmt.Printf("paid %d under epoch %d\n", id, token.Epoch)
		}
		return err
	})
}
