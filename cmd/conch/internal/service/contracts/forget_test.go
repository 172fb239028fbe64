package contracts

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// queue forgets so many of what has ended.
type queue struct {
	node.Calls

	ended int
	away  error
	asked []time.Duration
	at    []time.Duration
	began time.Time
}

func (q *queue) Forget(_ context.Context, age time.Duration, most int) (int, error) {
	q.asked, q.at = append(q.asked, age), append(q.at, time.Since(q.began))
	n := min(q.ended, most)
	q.ended -= n
	return n, q.away
}

// The calls of the contracts are forgotten a batch at a time, and then each minute: as long after their end as the longest of
// the account's contracts keeps what has ended, and never where one keeps it for ever.
func TestCallsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &webtest.Log{}
		busy, kept, away := &queue{ended: 1200, began: time.Now()}, &queue{}, &queue{away: errors.New("no database")}
		spans := map[string]span{}
		for _, a := range []Agreed{{Account: "busy", ForgetAfter: time.Hour}, {Account: "busy", ForgetAfter: 3 * time.Hour}, {Account: "kept", ForgetAfter: time.Hour}, {Account: "kept", ForgetAfter: -1}, {Account: "kept", ForgetAfter: time.Hour}, {Account: "away", ForgetAfter: time.Hour}} {
			spans[a.Account] = span{map[string]node.Calls{"busy": busy, "kept": kept, "away": away}[a.Account], spans[a.Account].age}.with(a)
		}
		ctx, stop := context.WithCancel(t.Context())
		var forgetting sync.WaitGroup
		forgetting.Go(func() { (&term{log: slog.New(slog.NewTextHandler(log, nil)), spans: spans}).forget(ctx) })
		time.Sleep(forgetEvery + time.Second)
		stop()
		forgetting.Wait()
		if want := []time.Duration{0, forgetLull, 2 * forgetLull, 2*forgetLull + forgetEvery}; !slices.Equal(busy.at, want) || busy.asked[0] != 3*time.Hour || busy.ended != 0 {
			t.Errorf("asked at %v to forget what is older than %v, and %d are left; want it at %v, for 3h, and none", busy.at, busy.asked, busy.ended, want)
		}
		if len(kept.asked) > 0 {
			t.Error("an account is asked to forget, of which a contract keeps everything")
		}
		if !strings.Contains(log.String(), "account=away") || len(away.asked) == 0 {
			t.Errorf("the log says %s, want the account that cannot forget", log)
		}
	})
}
