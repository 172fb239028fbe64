package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// F8: a stream hears of the jobs of the queue that it names whenever there are more or fewer, as it is documented, and of no other. The
// database is counted once for all streams, not at all while nobody hears, and more seldom if that takes long or fails.
func TestQueuesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		board := web.NewBoard()
		board.Offer(kindJob, (&service{store: new(pgstore.Store)}).selects)
		api := webtest.Site(t, &webtest.Log{}, nil, func(c *web.Config) { c.Board = board }).API()
		var busy sync.WaitGroup
		defer busy.Wait()
		defer end()
		var mu sync.Mutex // for what follows
		asked, takes, fails := 0, time.Duration(0), error(nil)
		depths := []pgstore.Depth{{Queue: "q", State: pgstore.Ready, N: 3, Wait: time.Second}, {Queue: "q", State: pgstore.Dead, N: 1}, {Queue: "other", State: pgstore.Later, N: 9}}
		busy.Go(func() {
			tellQueues(ctx, board, func(context.Context) ([]pgstore.Depth, error) {
				mu.Lock()
				asked++
				took, found, fault := takes, slices.Clone(depths), fails
				mu.Unlock()
				time.Sleep(took)
				return found, fault
			})
		})
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if asked != want {
				t.Errorf("the database was counted %d times, want %d", asked, want)
			}
			asked = 0
		}
		after(time.Minute, 0)
		outs := []*httptest.ResponseRecorder{httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()}
		for i, queue := range []string{"q", "q", "unknown"} {
			busy.Go(func() {
				api.ServeHTTP(outs[i], exchange{Ask: "GET /v1/events?job=" + queue}.Request().WithContext(ctx))
			})
		}
		after(10*time.Second+time.Millisecond, 10)
		set := func(change func()) {
			mu.Lock()
			defer mu.Unlock()
			change()
		}
		set(func() { depths[0].Wait = time.Hour }) // nobody takes them: that is no news
		after(10*time.Second, 10)
		set(func() { fails = errors.New("away") })
		after(10*time.Second, 2)
		set(func() { // the first was taken, and the dead one is tried again
			takes, fails, depths = time.Second, nil, []pgstore.Depth{{Queue: "q", State: pgstore.Ready, N: 2, Wait: time.Minute}}
		})
		after(42*time.Second, 2)
		set(func() { depths, takes = nil, 0 })
		time.Sleep(time.Minute)
		board.Tell(web.Notice{Kind: kindJob, Gap: "the end", Ends: true})
		synctest.Wait()
		spec := webtest.Read(t, openAPI)
		for i, want := range []string{"3 1, 2 0, 0 0", "3 1, 2 0, 0 0", ""} {
			var got []string
			for line := range strings.Lines(outs[i].Body.String()) {
				data, is := strings.CutPrefix(line, `data: {"as_of":`)
				if !is {
					continue
				}
				var q Queue
				var v any
				text := `{"as_of":` + data
				if err := errors.Join(json.Unmarshal([]byte(text), &q), json.Unmarshal([]byte(text), &v)); err != nil || q.Name != "q" {
					t.Fatalf("%s: %v", line, err)
				}
				for _, f := range spec.Faults("event", spec.At(spec.Root(), "components", "schemas", "QueueEvent"), v) {
					t.Error(f)
				}
				got = append(got, fmt.Sprint(q.Ready, " ", q.Dead))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("stream %d heard %q, want %q", i, got, want)
			}
		}
	})
}

// A node without a database has no jobs of which it could tell.
func TestAStreamOfJobsWithoutADatabase(t *testing.T) {
	t.Parallel()
	if _, err := new(service).selects("q"); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("got %v", err)
	}
}
