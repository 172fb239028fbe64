package logs

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
)

// Exactly so many goals are taken for later as there is room for, and what is not taken is refused at once. One for which the log has no room
// yet is asked for again; one that nobody executes is given up after its time, and is said to be. Each leaves its room to another one.
func TestRoomForGoalsOfLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said nodetest.Log
		var busy sync.WaitGroup
		r := &part{over: t.Context(), spawn: busy.Go, log: slog.New(slog.NewTextHandler(&said, nil))}
		var done, tries atomic.Int64
		take := func(id string) int {
			t.Helper()
			w, first := httptest.NewRecorder(), true
			err := later(w, r, Taken{GoalID: id}, func(ctx context.Context) (txlog.Answer, error) {
				if tries.Add(1); first {
					first = false
					return txlog.Answer{}, txlog.ErrTooMany
				}
				if id == "never" {
					<-ctx.Done()
					return txlog.Answer{}, txlog.ErrUnknown
				}
				done.Add(1)
				return txlog.Answer{}, nil
			})
			if err != nil {
				return web.ProblemOf(err).Status
			}
			return w.Code
		}
		for i := range mostLater - 1 {
			if code := take("soon"); code != http.StatusAccepted {
				t.Fatalf("goal %d: %d", i, code)
			}
		}
		if last, more := take("never"), take("more"); last != http.StatusAccepted || more != http.StatusTooManyRequests {
			t.Errorf("the last one: %d; one more: %d", last, more)
		}
		time.Sleep(2 * roomEvery) // of the bubble
		synctest.Wait()
		if n := done.Load(); n != mostLater-1 || tries.Load() != 2*mostLater || r.later.Load() != 1 {
			t.Errorf("%d are executed, by %d tries, and %d wait", n, tries.Load(), r.later.Load())
		}
		if code := take("soon"); code != http.StatusAccepted {
			t.Errorf("after that: %d", code)
		}
		began := time.Now()
		busy.Wait()
		if took := time.Since(began); took > laterPatience || r.later.Load() != 0 {
			t.Errorf("after %v %d wait", took, r.later.Load())
		}
		if text := strings.Join(said.Lines(), "\n"); strings.Count(text, "has no result") != 1 || !strings.Contains(text, "never") {
			t.Errorf("the log says %s", text)
		}
	})
}
