package node

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
)

// A role of a node alone that reloads take away and bring back begins when the one before
// it has ended, however often that is, and the node's own end waits for one on its way out.
func TestARoleAloneThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, begun atomic.Int32
		a := newAlone(&Node{id: "n1", log: slog.New(slog.DiscardHandler), over: t.Context()}, func(r config.Role) (Work, func(context.Context)) {
			return func(ctx context.Context, _ election.Leadership) error {
				if r.Scope == "stays" {
					<-ctx.Done()
					return nil
				}
				begun.Add(1)
				if running.Add(1) > 1 {
					t.Error("it runs twice at once")
				}
				defer running.Add(-1)
				<-ctx.Done()
				<-time.NewTimer(time.Minute).C // it takes its time to end
				return nil
			}, nil
		})
		stays := config.Role{Scope: "stays", DrainTimeout: time.Second}
		without := config.Config{Sections: given(stays)}
		with := config.Config{Sections: given(stays, config.Role{Scope: "leaves", DrainTimeout: 2 * time.Minute})}
		for _, c := range []config.Config{with, without, with, without, with} {
			if err := a.assign(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := begun.Load(); n != 1 {
				t.Errorf("begun %d times while the first has not ended", n)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if b, r := begun.Load(), running.Load(); b != 2 || r != 1 {
			t.Errorf("begun %d times in all, and %d run", b, r)
		}
		if err := a.assign(without); err != nil {
			t.Fatal(err)
		}
		if err := a.end(t.Context()); err != nil || running.Load() != 0 {
			t.Errorf("the end did not wait for it: %v", err)
		}
		if n := len(a.leaving); n != 0 {
			t.Errorf("%d are kept that have left", n)
		}
	})
}
