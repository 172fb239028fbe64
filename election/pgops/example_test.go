package pgops_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

// An operator looks who leads, and has the scope drained.
func Example() {
	ctx := context.Background()
	cfg := pgmint.Config{URL: os.Getenv("CONCH_DB_URL")}
	o, err := pgops.Observe(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	scopes, err := o.Scopes(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range scopes {
		fmt.Println(s.Scope, s.Holder, s.Held)
	}
	request := pgops.Request{Scope: "reports", Actor: "ann", Timeout: 30 * time.Second}
	if _, err := pgops.Ask(ctx, cfg, request, func(step string) { fmt.Println(step) }); err != nil {
		log.Fatal(err)
	}
}

// A candidate that operators can drain.
func ExampleObey() {
	ctx := context.Background()
	cfg := pgmint.Config{URL: os.Getenv("CONCH_DB_URL")}
	mint, err := pgmint.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer mint.Close()
	elector, err := election.New(election.Config{Mint: mint, Roles: []election.Role{{Scope: "reports"}}})
	if err != nil {
		log.Fatal(err)
	}
	go pgops.Obey(ctx, cfg, elector.ID(), elector)
	if err := elector.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
