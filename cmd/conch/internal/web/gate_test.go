package web_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Requests of callers that do not act delay no handover. An answer that a caller may act on
// delays it by its validity and a tenth, since the caller's clock may be slower.
func TestOnlyAnAnswerThatIsPromisedCounts(t *testing.T) {
	t.Parallel()
	w := newWorld()
	led(w)
	w.cfg.AnswerMax = 2 * time.Second
	site := w.site(t)
	ask := func(what string) {
		out := httptest.NewRecorder()
		site.API().ServeHTTP(out, exchange{Ask: what}.Request())
		if out.Code >= 400 && out.Code != 404 {
			t.Fatalf("%s: status %d, body %s; want a status below 400, or 404", what, out.Code, out.Body)
		}
	}
	readers := []string{gatePath + "?promise=no", gatePath + "?promise=no&door=fenced", gatePath + "?door=fenced", "HEAD /leader/payments", drainPath}
	for _, route := range site.Routes() {
		if method, path, _ := strings.Cut(route, " "); (method == "GET" || method == "OPTIONS") && !strings.HasSuffix(path, "/gate") && !strings.HasSuffix(path, "/events") {
			readers = append(readers, strings.ReplaceAll(route, "{scope}", "payments"))
		}
	}
	for _, what := range readers {
		ask(what)
		if until := w.latches["payments"].Answers(); until != 0 {
			t.Fatalf("a handover waits until %s after %s, want no wait", time.Duration(until), what)
		}
	}
	for what, life := range map[string]time.Duration{gatePath: 500 * time.Millisecond, gatePath + "?for=2s": 2 * time.Second} {
		w.latches["payments"].Shut(nil)
		w.now = w.now.Add(time.Hour)
		w.lead(0, time.Minute)
		ask(what)
		if left := w.latches["payments"].Answers().Sub(w.now); left < life+life/10 || left > life+life/10+50*time.Millisecond {
			t.Errorf("a handover waits %s after %s, want the answer's validity and a tenth", left, what)
		}
	}
}

// A node tells a caller that it may act, and is drained at once. While that caller may act, no
// other gate may allow a caller to act.
func TestNoTwoCallersMayActAcrossADrain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := newNode(t, db, "a", nil), newNode(t, db, "b", nil)
	a.campaign(t)
	a.leads(t)
	b.campaign(t)
	from, to := a, b
	for range 4 {
		// A node that has just given the scope up rests until it hears of a successor.
		pgtest.Eventually(t, 20*time.Second, to.ID()+" to follow", func() bool {
			_, body, _ := to.ask(t, gatePath, "")
			return body["holder"] == any(from.ID())
		})
		var until fence.Instant
		pgtest.Eventually(t, 20*time.Second, from.ID()+" to say that a caller may act", func() bool {
			sent := fence.Boottime()
			status, body, _ := from.ask(t, gatePath, "")
			life, _ := body["expires_in_ms"].(float64)
			until = sent.Add(time.Duration(life) * time.Millisecond)
			return status == 200 && life > 0
		})
		drained := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			drained <- from.Drain(ctx, "payments")
		}()
		pgtest.Eventually(t, 20*time.Second, "the successor to be told that it may act", func() bool {
			status, _, _ := to.ask(t, gatePath, "")
			return status == 200
		})
		if early := until.Sub(fence.Boottime()); early > 0 {
			t.Errorf("a caller of %s may act, and one of %s may act for another %s; want one at a time", to.ID(), from.ID(), early)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		from, to = to, from
	}
}
