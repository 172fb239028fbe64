package schedule

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/schedule/pgstore"
)

const (
	pathQueues = "/v1/queues"

	// kindJob names events of jobs on /v1/events, and is the parameter that selects those of one queue.
	kindJob = "job"

	queuesEach  = time.Second     // interval of readings while somebody hears of them
	queuesAgain = 5 * time.Second // after one that has failed
	queuesRest  = 20              // how many times as long as a reading took the next one waits at least: a long queue takes long to count
)

// Queue is how many jobs of a queue have not ended.
type Queue struct {
	AsOf    *time.Time `json:"as_of,omitempty"` // in an event
	Name    string     `json:"queue"`
	Ready   int        `json:"ready"`
	Later   int        `json:"later"`
	Waiting int        `json:"waiting"`
	Taken   int        `json:"taken"`
	Dead    int        `json:"dead"`
	OldMS   int64      `json:"oldest_ready_ms"` // for how long the first that is ready has waited
}

// queuesOf groups what was counted by queue.
func queuesOf(all []pgstore.Depth) map[string]Queue {
	queues := map[string]Queue{}
	for _, d := range all {
		q := queues[d.Queue]
		q.Name, q.OldMS = d.Queue, max(q.OldMS, d.Wait.Milliseconds())
		switch d.State {
		case pgstore.Ready:
			q.Ready = d.N
		case pgstore.Later:
			q.Later = d.N
		case pgstore.Waiting:
			q.Waiting = d.N
		case pgstore.Taken:
			q.Taken = d.N
		case pgstore.Dead:
			q.Dead = d.N
		}
		queues[d.Queue] = q
	}
	return queues
}

func (a *api) getQueues(w http.ResponseWriter, r *http.Request) error {
	at := time.Now()
	server, err := a.store.Held(r.Context())
	if err != nil {
		return err
	}
	depths, err := a.store.Depths(r.Context())
	if err != nil {
		return err
	}
	queues := queuesOf(depths)
	out := struct {
		AsOf     time.Time  `json:"as_of"`
		Held     bool       `json:"held"` // nothing is taken
		Restored *time.Time `json:"restored_at"`
		Queues   []Queue    `json:"queues"`
	}{at.UTC(), server.Held, orNull(server.Restored), []Queue{}}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		out.Queues = append(out.Queues, queues[name])
	}
	return web.Answer(w, http.StatusOK, out)
}

// selects takes the queue that the caller of an event stream names: any may get jobs.
func (s *service) selects(named string) (queue string, err error) {
	if s.store == nil {
		return "", web.Failf(http.StatusNotFound, "this node uses no database, which has the jobs").Named("no-database", "No database").About(kindJob)
	}
	return named, nil
}

// tellQueues tells the event streams of this node how many jobs each queue has, whenever that has changed, until ctx ends. One reading
// serves all that hear of it, and nothing is read while nobody does.
func tellQueues(ctx context.Context, board *web.Board, count func(context.Context) ([]pgstore.Depth, error)) {
	var told map[string]Queue
	for wait := queuesEach; pause.For(ctx, wait) == nil; {
		wait = queuesEach
		if !board.Heard(kindJob) {
			told = nil // those that hear of it next begin with all
			continue
		}
		began := time.Now()
		asking, cancel := context.WithTimeout(ctx, webPatience)
		depths, err := count(asking)
		cancel()
		if wait = max(queuesEach, queuesRest*time.Since(began)); err != nil {
			wait = max(wait, queuesAgain)
			continue
		}
		now := queuesOf(depths)
		for _, q := range moved(told, now) {
			q.AsOf = orNull(began.UTC())
			board.Tell(web.Notice{Kind: kindJob, Subject: q.Name, Data: q})
		}
		told = now
	}
}

// moved returns the queues that have other jobs than before, in the order of their names: an age that only grows is no news.
func moved(before, now map[string]Queue) (all []Queue) {
	for name := range before {
		if _, still := now[name]; !still {
			all = append(all, Queue{Name: name})
		}
	}
	for name, q := range now {
		was, known := before[name]
		if grown := q.OldMS >= was.OldMS; grown {
			was.OldMS = q.OldMS
		}
		if !known || was != q {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b Queue) int { return slices.Compare([]string{a.Name}, []string{b.Name}) })
	return all
}
