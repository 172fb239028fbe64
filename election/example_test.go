package election_test

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// A process that campaigns for one scope, does one act while it leads, and steps down. A
// service takes its mint from pgmint; the mint of this example is in memory.
func ExampleElector_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := election.New(election.Config{
		Mint: electiontest.NewMemory(),
		ID:   "reporter-1",
		Roles: []election.Role{{
			Scope: "reports",
			Lead: func(ctx context.Context, l election.Leadership) error {
				defer cancel() // one report is enough here
				return l.Gate.Do(ctx, fence.Act, time.Second, func(_ context.Context, t fence.Token) error {
					fmt.Println("a report in epoch", t.Epoch)
					return nil
				})
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended:", e.Run(ctx))
	// Output:
	// a report in epoch 1
	// ended: <nil>
}

// A scope that is added while the elector runs, and taken back when it is not wanted any more.
func ExampleElector_Add() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := election.New(election.Config{Mint: electiontest.NewMemory(), ID: "reporter-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()

	if err := e.Add(election.Role{Scope: "reports"}); err != nil {
		fmt.Println(err)
		return
	}
	token, err := e.Gate("reports").Wait(ctx, fence.Act)
	fmt.Println("leads", token.Scope, err)

	if _, err := e.Retire("reports"); err != nil { // no further bid; a term that runs goes on
		fmt.Println(err)
		return
	}
	fmt.Println("gave it up:", e.Drain(ctx, "reports"))
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// leads reports <nil>
	// gave it up: <nil>
	// ended: <nil>
}
