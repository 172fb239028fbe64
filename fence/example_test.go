package fence_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
)

// led returns a gate that is open for a minute, as under an elector.
func led() (*fence.Gate, *fence.Latch) {
	gate, latch := fence.New("payments", nil)
	latch.Open(fence.Token{Scope: "payments", Holder: "a", Epoch: 7}, 0, fence.Boottime().Add(time.Minute))
	return gate, latch
}

// An act behind the act door: no resource can refuse a mail that a former leader sends.
func ExampleGate_Do() {
	gate, latch := led()
	send := func(ctx context.Context, t fence.Token) error {
		fmt.Println("sent under epoch", t.Epoch)
		return nil
	}
	fmt.Println(gate.Do(context.Background(), fence.Act, 200*time.Millisecond, send))

	latch.Shut(errors.New("the database is gone"))
	latch.Heard("b")
	fmt.Println(gate.Do(context.Background(), fence.Act, 200*time.Millisecond, send))
	// Output:
	// sent under epoch 7
	// <nil>
	// the act door of scope "payments" is shut: this process is not its leader (b is, as last heard): the database is gone
}

// Ask the gate right before the effect, and pass the token to the resource that checks it.
func ExampleGate_Require() {
	gate, _ := led()
	token, err := gate.Require(fence.Fenced)
	if err != nil {
		return // not the leader: do nothing
	}
	fmt.Printf("SELECT conch.fence('%s', %d)\n", token.Scope, token.Epoch)
	// Output: SELECT conch.fence('payments', 7)
}

// Work that was prepared in one epoch must not be sent in another.
func ExampleGate_EnsureEpoch() {
	gate, _ := led()
	const preparedIn = 6
	if err := gate.EnsureEpoch(fence.Act, preparedIn); errors.Is(err, fence.ErrStale) {
		fmt.Println("prepared by a predecessor: not sent")
	}
	// Output: prepared by a predecessor: not sent
}

// Wait blocks until this process leads.
func ExampleGate_Wait() {
	gate, latch := fence.New("payments", nil)
	go latch.Open(fence.Token{Scope: "payments", Epoch: 8}, 0, fence.Boottime().Add(time.Minute))
	token, err := gate.Wait(context.Background(), fence.Act)
	fmt.Println(token.Epoch, err)
	// Output: 8 <nil>
}

// A refusal names the process that leads, so that a client can be sent there.
func ExampleShutError() {
	gate, latch := fence.New("payments", nil)
	latch.Heard("b")
	_, err := gate.Require(fence.Act)
	if shut, ok := errors.AsType[*fence.ShutError](err); ok {
		fmt.Println("ask", shut.Holder)
	}
	// Output: ask b
}

// A deployment of exactly one copy needs no election.
func ExampleStandalone() {
	gate := fence.Standalone("payments", "the only one")
	fmt.Println(gate.IsOpen(fence.Act))
	// Output: true
}
