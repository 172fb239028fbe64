package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/conchhq/conch/internal/fleet"
)

// A condition is looked at after each change, and not for ever.
func TestHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h fleet.Heard
		n := 0
		done := make(chan error)
		go func() { done <- h.Await(t.Context(), func() bool { return n == 2 }) }()
		for range 2 {
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("after %d changes the wait is over: %v", n, err)
			default:
			}
			h.Tell(func() { n++ })
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := h.Await(ctx, func() bool { return false }); !errors.Is(err, enough) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}
