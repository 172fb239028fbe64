package pglog_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/pgstore"
)

const scope = "log:flags"

// The tables of the election come first: conch migrate up. Those of a log are made by the program that embeds it.
func tables(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return pgstore.Up(ctx, conn, nil)
}

// A process is a member of the log: it leads the log while it leads the scope, and executes a goal. Several do the same, each under a
// name of its own and with a copy of its own.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	database := pgmint.Config{URL: os.Getenv("CONCH_DB_URL"), AppName: "flags"}
	if err := tables(ctx, database.URL); err != nil {
		log.Fatal(err)
	}
	db, err := pgstore.Open(ctx, pgstore.Connection{URL: database.URL, AppName: "flags log"}, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	genesis := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "a", Store: 1}}}.With()
	if err := db.Create(ctx, genesis, scope); err != nil {
		log.Fatal(err)
	}
	node, err := db.Member(ctx, pgstore.Config{Self: "a", Log: genesis.ID(), New: kv.New, Trouble: func(err error) { log.Print(err) }})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Print(node.Run(ctx)) }()
	mint, err := pgmint.New(database)
	if err != nil {
		log.Fatal(err)
	}
	defer mint.Close()
	go func() {
		log.Print(pgmint.Do(ctx, mint, scope, func(ctx context.Context, l election.Leadership) error {
			return node.Lead(ctx, l.Token)
		}))
	}()
	answer, err := node.Goal(ctx, "order 7", []byte(`{"op":"put","key":"dark","value":true}`), 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("entry %d: %s\n", answer.Index, answer.Result)
}
