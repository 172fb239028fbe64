package fence_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

// A step that was begun gets its time after the gate was shut, and no more.
func TestOutlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		longer, end := fence.Outlive(ctx, time.Second)
		defer end()
		if _, bound := longer.Deadline(); bound || longer.Value(key{}) != "kept" {
			t.Error("it is another context")
		}
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Fatal("it ended before the other")
		}
		cancel()
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("it was cut off")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if longer.Err() == nil {
			t.Error("it goes on")
		}

		after, stop := fence.Outlive(ctx, time.Second) // of one that is over
		if after.Err() != nil {
			t.Error("no time was left")
		}
		stop()
		if after.Err() == nil {
			t.Error("it goes on after its end")
		}
	})
}

type key struct{}
