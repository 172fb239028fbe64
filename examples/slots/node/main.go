// Node is one organisation's node of the slots of a warehouse: package sequencer as a library, with a domain of your own
// over mutual TLS, Postgres and a contract on Ethereum. Start it twice with one database, and the second takes over.
//
//	conch --db "$DATABASE" migrate up
//	conch identity new identity.pem                # prints the fingerprint that the others write down
//	go run ./examples/slots/node deploy yard.json  # once, by one of them; prints the contract's address
//	go run ./examples/slots/node run yard.json     # each with a file of its own: see settings.go
//	curl -d '{"do":"open","day":"2026-11-30","slots":8}' 127.0.0.1:7071/requests/monday   # returns when it has ended
//	curl 127.0.0.1:7071/slots/2026-11-30/3                                                # prints who holds it
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 || args[0] != "run" && args[0] != "deploy" {
		return errors.New("write: node run FILE, or node deploy FILE")
	}
	s, err := readSettings(args[1])
	if err != nil {
		return err
	}
	if args[0] == "run" && s.Contract == "" {
		return fmt.Errorf("%s: Contract is missing: deploy prints its address", args[1])
	}
	mint, err := pgmint.New(pgmint.Config{URL: s.Database})
	if err != nil {
		return err
	}
	defer mint.Close()
	o := &organisation{settings: s, mint: pgmint.Config{URL: s.Database}}
	lead := o.serve
	if args[0] == "deploy" {
		ctx, o.done = context.WithCancel(ctx)
		defer o.done()
		lead = o.deploy
	}
	elector, err := election.New(election.Config{Mint: mint, ID: election.Identity("slots"), Roles: []election.Role{{
		Scope: "sequencer:" + s.Name,
		// The fenced door is enough: both stores refuse a stale leader, nothing leaves before it is stored, and the ledger
		// takes an intent once.
		Fenced: func(ctx context.Context, l election.Leadership) error {
			err := o.open(ctx, l, lead)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			return nil
		},
	}}})
	if err != nil {
		return err
	}
	return elector.Run(ctx)
}
