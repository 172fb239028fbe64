package electiontest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// Two electors of one mint in memory: when the first one ends, the second one leads. Tests of
// a service can do the same without a database.
func ExampleMemory() {
	mint := electiontest.NewMemory()
	start := func(id string) (e *election.Elector, stop func()) {
		e, err := election.New(election.Config{Mint: mint, ID: id, Lease: time.Second, Roles: []election.Role{{Scope: "reports"}}})
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = e.Run(ctx)
		}()
		return e, func() { cancel(); <-ended }
	}
	first, stopFirst := start("first")
	token, _ := first.Gate("reports").Wait(context.Background(), fence.Act)
	fmt.Println("first leads in epoch", token.Epoch)

	second, stopSecond := start("second")
	defer stopSecond()
	stopFirst()
	token, _ = second.Gate("reports").Wait(context.Background(), fence.Act)
	fmt.Println("second leads in epoch", token.Epoch)
	// Output:
	// first leads in epoch 1
	// second leads in epoch 2
}
