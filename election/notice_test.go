package election_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
)

// A role that ends its acts is told how long it may take. Heartbeats go on, and each gives it longer; when the process itself is asked to end,
// it has less time than the drain had left it.
func TestANoticeMoves(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, b *bench) {
		var told []election.Notice
		end := make(chan struct{})
		slow := func(ctx context.Context, l election.Leadership) error {
			<-ctx.Done()
			for {
				is, moved := l.Notice()
				if told = append(told, is); is.Deadline != 0 && is.Deadline <= b.clock() {
					t.Errorf("the deadline is over: %+v", is)
				}
				select {
				case <-moved:
				case <-end:
					return nil
				}
			}
		}
		a, stop := b.run("a", election.Role{Lead: slow}, func(c *election.Config) { c.DrainTimeout = 5 * time.Second })
		b.leads(a, time.Second)
		given := b.clock().Add(time.Hour)
		go func() {
			if err := a.StepDown(t.Context(), election.StepDown{Scope: "s", Why: election.ErrStepDown, Timeout: time.Hour}); !errors.Is(err, election.ErrDrainTimeout) {
				t.Errorf("the scope was given up: %v", err)
			}
		}()
		pass(time.Minute)
		synctest.Wait()
		first := slices.Clone(told)
		left := first[len(first)-1].Deadline.Sub(b.clock())
		by := b.clock().Add(5 * time.Second)
		if err := stop(); !errors.Is(err, election.ErrDrainTimeout) {
			t.Errorf("it ends with %v", err)
		}
		synctest.Wait()
		close(end)
		if len(first) < 50 || first[0].By != given || first[0].Deadline != 0 {
			t.Fatalf("the role was told %+v", first)
		}
		for i, is := range first[1:] {
			if is.By != given || is.Deadline <= first[i].Deadline {
				t.Fatalf("after %+v it was told %+v", first[i], is)
			}
		}
		if left <= 0 || left > 3*time.Second {
			t.Errorf("it has %s left", left)
		}
		if last := told[len(told)-1]; last.By != by {
			t.Errorf("at last it was told %+v, want an end by %d", last, by)
		}
	})
}
