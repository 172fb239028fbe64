package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

func TestFor(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	for name, c := range map[string]struct {
		wait, end time.Duration // how long; when the context ends, 0: not at all, -1: before
		took      time.Duration
		want      error
	}{
		"to the end":   {wait: time.Minute, took: time.Minute},
		"cut short":    {wait: time.Minute, end: time.Second, took: time.Second, want: why},
		"over already": {wait: time.Minute, end: -1, want: why},
		"no time":      {},
		"none, over":   {end: -1, want: why},
		"less":         {wait: -time.Minute, end: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.end > 0 {
					time.AfterFunc(c.end, func() { cancel(why) })
				} else if c.end < 0 {
					cancel(why)
				}
				began := time.Now()
				if err := pause.For(ctx, c.wait); !errors.Is(err, c.want) || err == nil != (c.want == nil) || time.Since(began) != c.took {
					t.Errorf("it took %v and returned %v, want %v and %v", time.Since(began), err, c.took, c.want)
				}
			})
		})
	}
}
