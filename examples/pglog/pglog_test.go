package pglog_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/member"
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
	inputs := make(chan member.Input, 64)
	authority, err := db.Authority(pgstore.Config{
		At: genesis.Start(), Tell: func(f txlog.Fact) { inputs <- member.Heard{Fact: f} }, Trouble: func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Print(authority.Run(ctx)) }()
	mint, err := pgmint.New(database)
	if err != nil {
		log.Fatal(err)
	}
	defer mint.Close()
	go func() {
		log.Print(pgmint.Do(ctx, mint, scope, func(ctx context.Context, l election.Leadership) error {
			return authority.Lead(ctx, l.Token)
		}))
	}()
	inputs <- member.Submit{Ticket: 1, GoalID: "order 7", Goal: []byte(`{"op":"put","key":"dark","value":true}`)}
	answer := runs(member.New(member.Config{Self: "a", Base: txlog.NewCopy(genesis, kv.New), New: kv.New}), authority, inputs)
	fmt.Printf("entry %d: %s\n", answer.Index, answer.Result)
}

// runs feeds the machine, and does what it says, until the first answer.
func runs(m *member.Machine, authority txlog.Authority, inputs <-chan member.Input) member.Answer {
	begun := time.Now()
	round := time.NewTicker(100 * time.Millisecond)
	defer round.Stop()
	for {
		var in member.Input
		select {
		case in = <-inputs:
		case now := <-round.C:
			in = member.Tick{At: now.UnixMilli()}
		}
		for _, action := range m.Step(time.Since(begun), in) {
			switch action := action.(type) {
			case member.Append:
				authority.Append(action.Record)
			case member.Confirm:
				authority.Confirm(action.Read)
			case member.Answer:
				return action
			case member.Quarantine: // its memory is wrong, or that of another member
				log.Fatal(action.Why)
			}
		}
	}
}
