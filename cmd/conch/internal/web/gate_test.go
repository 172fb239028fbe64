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

// What is asked for by those who look, and do not act, delays no handover; what a caller may
// act on does, for as long as it was told and a tenth, as its clock may be slower.
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
			t.Fatalf("%s: %d %s", what, out.Code, out.Body)
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
			t.Fatalf("a handover waits until %s for %s", time.Duration(until), what)
		}
	}
	for what, life := range map[string]time.Duration{gatePath: 500 * time.Millisecond, gatePath + "?for=2s": 2 * time.Second} {
		w.latches["payments"].Shut(nil)
		w.now = w.now.Add(time.Hour)
		w.lead(0, time.Minute)
		ask(what)
		if left := w.latches["payments"].Answers().Sub(w.now); left < life+life/10 || left > life+life/10+50*time.Millisecond {
			t.Errorf("a handover waits %s for %s", left, what)
		}
	}
}

// The auditor's schedule: A tells a caller that it may act for so long, and is drained at
// once. No gate may tell anybody else the same while that caller may act.
func TestNoTwoCallersMayActAcrossADrain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := newNode(t, db, "a", nil), newNode(t, db, "b", nil)
	a.campaign(t)
	a.leads(t)
	b.campaign(t)
	from, to := a, b
	for range 4 {
		// One that had just given it up rests, until it hears of a successor.
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
			t.Errorf("a caller of %s may act, and one of %s for %s yet", to.ID(), from.ID(), early)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		from, to = to, from
	}
}
