package assemble

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// A role that only we can stop ends with the last deadline that its gate had, and
// no sooner.
func TestACallbackEndsWithItsGate(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("s", nil)
	began := fence.Boottime()
	last := began.Add(150 * time.Millisecond)
	latch.Open(fence.Token{Scope: "s", Epoch: 1}, 0, began.Add(100*time.Millisecond))
	over := make(chan error, 1)
	go func() { over <- untilOver(t.Context(), gate, fence.Act) }()
	latch.Extend(last)
	if err := <-over; !errors.Is(err, errLate) {
		t.Errorf("it ended with %v", err)
	}
	if now := fence.Boottime(); now < last {
		t.Errorf("it ended %s after its beginning", now.Sub(began))
	}

	latch.Open(fence.Token{Scope: "s", Epoch: 2}, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { over <- untilOver(ctx, gate, fence.Act) }()
	cancel()
	if err := <-over; err != nil {
		t.Errorf("asked to end it ended with %v", err)
	}
	latch.Shut(errLate)
	if err := untilOver(t.Context(), gate, fence.Act); !errors.Is(err, errLate) {
		t.Errorf("with a gate that is shut: %v", err)
	}
}
