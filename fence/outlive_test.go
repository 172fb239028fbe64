package fence_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

// Outlive gives a step the stated time after the gate has shut, and no more.
func TestOutlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		longer, end := fence.Outlive(ctx, time.Second)
		defer end()
		if _, bound := longer.Deadline(); bound || longer.Value(key{}) != "kept" {
			t.Error("the derived context has a deadline or lacks the values of ctx")
		}
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Fatal("the derived context ended before ctx did")
		}
		cancel()
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("the derived context ended less than 1s after ctx")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if longer.Err() == nil {
			t.Error("the derived context is alive 1s after the end of ctx")
		}

		after, stop := fence.Outlive(ctx, time.Second) // ctx has ended
		if after.Err() != nil {
			t.Error("a context derived from one that has ended begins ended")
		}
		stop()
		if after.Err() == nil {
			t.Error("the derived context is alive after end was called")
		}
	})
}

type key struct{}
