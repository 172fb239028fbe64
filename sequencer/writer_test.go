package sequencer

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/sequencer/internal/core"
)

// written is a store that says once that it has not stored, and keeps in which order and how many at once it has.
type written struct {
	Store
	fails bool
	order []string
	most  int
}

func (s *written) Write(_ context.Context, changes []core.Change) ([]core.Twice, error) {
	s.most = max(s.most, len(changes))
	if s.fails = !s.fails; s.fails {
		return nil, errors.New("the answer is lost")
	}
	for _, c := range changes {
		s.order = append(s.order, c.Contract)
	}
	return nil, nil
}

// P38: what waits for the writer keeps its order, however much waits and however often it is tried.
func TestWritesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 2*mostWritten + 500
		store := &written{}
		ctx, stop := context.WithCancel(t.Context())
		n := &Node{cfg: Config{Store: store, Log: slog.New(slog.DiscardHandler)}, ctx: ctx, inbox: step.NewInbox[func()](), writes: step.NewInbox[core.Write](), outages: newOutages()}
		for i := range many {
			n.writes.Put(core.Write{Change: core.Change{Contract: strconv.Itoa(i)}})
		}
		n.group.Go(n.write)
		for told := 0; told < 3; told += len(n.inbox.Take()) {
			<-n.inbox.Ready()
		}
		stop()
		n.group.Wait()
		for i, name := range store.order {
			if name != strconv.Itoa(i) {
				t.Fatalf("number %s is written when %d was next", name, i)
			}
		}
		if store.most != mostWritten {
			t.Errorf("%d changes are one transaction, want %d at most", store.most, mostWritten)
		}
	})
}
