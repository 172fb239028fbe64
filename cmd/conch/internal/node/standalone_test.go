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

// On a standalone node, a role that reloads remove and add again starts only when its
// previous run has ended, and the node's own end waits for a run that is ending.
func TestAStandaloneRoleThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, begun atomic.Int32
		a := newStandalone(&Node{id: "n1", log: slog.New(slog.DiscardHandler), over: t.Context()})
		a.work = func(r config.Role, _ func(error)) (Work, func(context.Context)) {
			return func(ctx context.Context, _ election.Leadership) error {
				if r.Scope == "stays" {
					<-ctx.Done()
					return nil
				}
				begun.Add(1)
				if running.Add(1) > 1 {
					t.Error("two runs of the role at the same time, want one")
				}
				defer running.Add(-1)
				<-ctx.Done()
				<-time.NewTimer(time.Minute).C // it takes its time to end
				return nil
			}, nil
		}
		stays := config.Role{Scope: "stays", DrainTimeout: time.Second}
		without := config.Config{Sections: given(stays)}
		with := config.Config{Sections: given(stays, config.Role{Scope: "leaves", DrainTimeout: 2 * time.Minute})}
		for _, c := range []config.Config{with, without, with, without, with} {
			if err := a.assign(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := begun.Load(); n != 1 {
				t.Errorf("the role began %d times before its first run had ended, want 1", n)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if b, r := begun.Load(), running.Load(); b != 2 || r != 1 {
			t.Errorf("the role began %d times and %d runs go on, want 2 and 1", b, r)
		}
		if err := a.assign(without); err != nil {
			t.Fatal(err)
		}
		if err := a.end(t.Context(), nil); err != nil || running.Load() != 0 {
			t.Errorf("got %v from the end of the node, or a run that goes on; want nil and no run", err)
		}
		if n := len(a.ending); n != 0 {
			t.Errorf("%d ended roles are still in ending, want 0", n)
		}
	})
}
