package pgmint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// A service leads a scope and gives its gate to the work.
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

// Many processes may call Do, and one at a time makes the report.
func ExampleDo() {
	mint, err := pgmint.New(pgmint.Config{URL: os.Getenv("CONCH_DB_URL")})
	if err != nil {
		log.Fatal(err)
	}
	defer mint.Close()
	err = pgmint.Do(context.Background(), mint, "monthly-report", func(ctx context.Context, l election.Leadership) error {
		return l.Gate.Do(ctx, fence.Act, time.Second, func(context.Context, fence.Token) error {
			fmt.Println("the report is made")
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
