package alerts_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/fence"
)

// hall is a cluster of one process in a bubble: what is true, and what its receivers were told.
type hall struct {
	mu      sync.Mutex
	fires   bool
	fails   error
	told    []alerts.Status
	answer  func(context.Context) (alerts.Answer, error)
	notices []alerts.Event
}

func (h *hall) Evaluate(context.Context, time.Time) ([]alerts.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := alerts.Result{Rule: "disk"}
	if h.fires {
		r.Members = []alerts.Member{{Labels: map[string]string{"host": "a"}, Value: 1}}
	}
	return []alerts.Result{r}, h.fails
}

func (h *hall) Tell(ctx context.Context, _ string, m alerts.Message) (alerts.Answer, error) {
	h.mu.Lock()
	h.told = append(h.told, m.Status)
	answer := h.answer
	h.mu.Unlock()
	if answer != nil {
		return answer(ctx)
	}
	return alerts.Taken, nil
}

func (h *hall) Sample() []byte { return []byte("samples") }

func (h *hall) notice(e alerts.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, e)
}

func (h *hall) set(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func (h *hall) check(t *testing.T, want ...alerts.Status) {
	t.Helper()
	h.set(func() {
		if !slices.Equal(h.told, want) {
			t.Errorf("told %v, want %v", h.told, want)
		}
	})
}

func (h *hall) config() alerts.Config {
	began := time.Now()
	return alerts.Config{
		Cluster: "c", Node: "node-1", Hash: "h", Notice: h.notice, Clock: func() fence.Instant { return fence.Instant(time.Since(began)) },
		Receivers: []alerts.Receiver{{Name: "pager", Kind: alerts.Keyed}},
		Rules: []alerts.Rule{
			{Name: "disk", Notify: []string{"pager"}}, {Name: alerts.AwayRule, Notify: []string{"pager"}}, {Name: alerts.IdleRule, Notify: []string{"pager"}},
		},
	}
}

// leads leads in a bubble until the test ends.
func (h *hall) leads(t *testing.T, s *alertstest.Store) (e *alerts.Evaluator, ended chan error, end func()) {
	t.Helper()
	e, err := alerts.New(h.config(), s, h, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	gate, latch := fence.New(alertstest.Leader.Scope, func() fence.Instant { return 0 })
	latch.Open(alertstest.Leader, 0, math.MaxInt64)
	go func() { ended <- e.Lead(ctx, gate) }()
	return e, ended, cancel
}

// F9: who leads tells what fires, and that it is over; one that leads after it goes on from there.
func TestLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{fires: true}, alertstest.NewStore()
		_, ended, end := h.leads(t, s)
		time.Sleep(time.Hour)
		h.check(t, alerts.Firing)
		end()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		h.set(func() { h.fires = false })
		_, ended, end = h.leads(t, s)
		time.Sleep(time.Minute)
		h.check(t, alerts.Firing, alerts.Resolved)
		end()
		<-ended
	})
}

// A silence that somebody says of is heeded at once.
func TestLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{fires: true}, alertstest.NewStore()
		one := alerts.Silence{ID: "s", Matchers: []alerts.Matcher{{Label: "host", Op: "=", Value: "a"}}, Since: time.Now().Add(-time.Second), Until: time.Now().Add(time.Hour)}
		if err := s.SetSilence(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		e, ended, end := h.leads(t, s)
		time.Sleep(time.Minute)
		h.check(t)
		if _, err := s.EndSilence(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.Look()
		synctest.Wait()
		h.check(t, alerts.Firing)
		end()
		<-ended
		e.Look()
	})
}

// slow is a store in which time passes when it is recorded that a message is sent: the process has stood still.
type slow struct {
	*alertstest.Store
	skip *atomic.Int64
}

func (s slow) Record(ctx context.Context, t fence.Token, rows alerts.Rows) error {
	if len(rows.Tellings) > 0 && rows.Tellings[0].Asked {
		s.skip.CompareAndSwap(0, int64(time.Minute))
	}
	return s.Store.Record(ctx, t, rows)
}

// A process that has stood still before it sends decides anew.
func TestWhatIsOldIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, skip := &hall{fires: true}, &atomic.Int64{}
		cfg := h.config()
		clock := cfg.Clock
		cfg.Clock = func() fence.Instant { return clock() + fence.Instant(skip.Load()) }
		e, err := alerts.New(cfg, slow{alertstest.NewStore(), skip}, h, h)
		if err != nil {
			t.Fatal(err)
		}
		gate, latch := fence.New(alertstest.Leader.Scope, func() fence.Instant { return 0 })
		latch.Open(alertstest.Leader, 0, math.MaxInt64)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Lead(ctx, gate) }()
		time.Sleep(2 * time.Second)
		h.check(t)
		time.Sleep(time.Minute)
		h.check(t, alerts.Firing)
		cancel()
		<-ended
	})
}

// A leader whose token is over ends, and says so.
func TestAStaleToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{fires: true}, alertstest.NewStore()
		s.Depose(7)
		_, ended, end := h.leads(t, s)
		defer end()
		if err := <-ended; !errors.Is(err, fence.ErrStale) {
			t.Errorf("it ended with %v", err)
		}
		h.check(t)
	})
}

// A message that has no answer in time is in doubt, and the receiver is not waited for longer. A fault that begins and ends is told once each.
func TestAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{fires: true}, alertstest.NewStore()
		h.answer = func(ctx context.Context) (alerts.Answer, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}
		_, ended, end := h.leads(t, s)
		time.Sleep(2*time.Minute + time.Second)
		h.check(t, alerts.Firing, alerts.Firing)
		h.set(func() { h.answer = nil })
		time.Sleep(time.Hour)
		h.check(t, alerts.Firing, alerts.Firing, alerts.Firing)
		end()
		<-ended
		var troubles []bool
		for _, e := range h.notices {
			if e, is := e.(alerts.Trouble); is && e.What == "tell pager" {
				troubles = append(troubles, e.Why != nil)
			}
		}
		if !slices.Equal(troubles, []bool{true, false}) {
			t.Errorf("the troubles are %v", troubles)
		}
	})
}

// While nothing can be recorded nothing is sent, and it is when it can.
func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{}, alertstest.NewStore()
		_, ended, end := h.leads(t, s)
		time.Sleep(time.Minute)
		s.Fail(errors.New("the database is away"))
		h.set(func() { h.fires = true })
		time.Sleep(10 * time.Minute)
		h.check(t)
		s.Fail(nil)
		time.Sleep(time.Minute)
		h.check(t, alerts.Firing)
		h.set(func() { h.fails, h.fires = errors.New("a query takes too long"), false })
		time.Sleep(10 * time.Minute)
		h.check(t, alerts.Firing)
		end()
		<-ended
	})
}

// A node reports, and tells what no leader can.
func TestWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := &hall{}, alertstest.NewStore()
		w, err := alerts.NewWatcher(h.config(), s, h, h)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan error, 1)
		go func() { watched <- w.Run(ctx) }()
		_, ended, end := h.leads(t, s)
		time.Sleep(10 * time.Minute)
		h.check(t)
		if all, err := s.Samples(t.Context(), 0, nil); err != nil || len(all) < 30 || string(all[0].Body) != "samples" {
			t.Errorf("%d samples, %v", len(all), err)
		}
		s.Fail(errors.New("the database is away"))
		time.Sleep(time.Minute)
		h.check(t, alerts.Firing)
		s.Fail(nil)
		time.Sleep(5 * time.Minute)
		h.check(t, alerts.Firing, alerts.Resolved, alerts.Resolved)
		end()
		<-ended
		time.Sleep(2 * time.Minute)
		h.check(t, alerts.Firing, alerts.Resolved, alerts.Resolved, alerts.Firing)
		cancel()
		if err := <-watched; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// The memory store passes what each store passes.
func TestStore(t *testing.T) {
	t.Parallel()
	alertstest.Suite(t, func(*testing.T) alertstest.Stores { return alertstest.NewStore() })
}

// Every fault of a configuration is listed.
func TestValidate(t *testing.T) {
	t.Parallel()
	err := alerts.Config{
		Interval: time.Millisecond, Hold: time.Second, Receivers: []alerts.Receiver{{Name: "a"}, {Name: "a", Kind: 9}},
		Rules: []alerts.Rule{{Name: "r", Notify: []string{"b"}, For: -1}, {Name: "r"}},
	}.WithDefaults().Validate()
	joined, is := err.(interface{ Unwrap() []error })
	if !is || len(joined.Unwrap()) != 9 {
		t.Errorf("the faults are %v", err)
	}
}
