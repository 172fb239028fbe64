package budget_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// W9: there is no limit before the endpoint refuses something for the number of calls. Then requests wait for
// their part of what it took; it is asked no sooner than it says, and more again as time goes by.
func TestAllowance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newBudget(0, nil)
		waits := func(calls int) time.Duration {
			before := time.Now()
			if err := a.WaitFor(t.Context(), float64(calls)); err != nil {
				t.Fatal(err)
			}
			return time.Since(before)
		}
		for range 10 { // a hundred calls in a second
			if got := waits(10); got > 0 {
				t.Errorf("nothing was refused, and it waits for %v", got)
			}
			a.Took(10)
			time.Sleep(100 * time.Millisecond)
		}
		if got := a.Most(100); got != 100 {
			t.Errorf("nothing was refused: a request has at most %d calls, want as configured", got)
		}
		a.Refused(3 * time.Second)
		a.Refused(0) // of a request that was under way
		if got := waits(1); got < 3*time.Second || got > 4*time.Second {
			t.Errorf("the endpoint said three seconds: waited for %v", got)
		}
		if got := a.Most(100); got < 10 || got > 25 {
			t.Errorf("it took about a hundred calls a second: a request has at most %d, want a quarter of a part of them", got)
		}
		sent, since := 0, time.Now()
		for time.Since(since) < 5*time.Second {
			waits(10)
			a.Took(10)
			sent += 10
		}
		if sent < 300 || sent > 600 {
			t.Errorf("%d calls in five seconds, want a part of five hundred", sent)
		}
		for range 60 { // nothing is refused any more
			time.Sleep(time.Second)
			waits(10)
			a.Took(10)
		}
		if got := a.Most(1000); got < 100 {
			t.Errorf("after a minute without a refusal a request has at most %d calls, want many", got)
		}
		if busy := a.BusyFor(t.Context(), 1); busy > 0 {
			t.Errorf("nothing is under way, and one call would wait for %v", busy)
		}
	})
}

// W9: an endpoint that refuses everything is asked less and less often, every ten seconds or so in the end.
func TestAllowanceOfAnEndpointThatTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newBudget(0, nil)
		asked, since := 0, time.Now()
		for time.Since(since) < 5*time.Minute {
			if err := a.WaitFor(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			asked++
			a.Refused(0)
		}
		if asked < 10 || asked > 40 {
			t.Errorf("asked %d times in five minutes, want about every ten seconds", asked)
		}
		a.Refused(24 * time.Hour)
		if busy := a.BusyFor(t.Context(), 1); busy > 2*time.Minute {
			t.Errorf("it says a day: waits for %v, want to look each minute", busy)
		}
	})
}

// W9: what is configured may change: at once if it was kept to, and a rate that was learned below it stays. Where
// nothing is configured, nothing changes.
func TestTheLimitChanges(t *testing.T) {
	t.Parallel()
	b := newBudget(100, nil)
	for _, c := range []struct{ top, want float64 }{{20, 20}, {80, 80}, {100, 100}} {
		b.SetRate(c.top)
		if got := b.Rate(); got != c.want {
			t.Errorf("the limit is %v: the rate is %v, want %v", c.top, got, c.want)
		}
	}
	b.Refused(time.Millisecond)
	for _, c := range []struct{ top, want float64 }{{90, 70}, {50, 50}, {0, 50}} {
		b.SetRate(c.top)
		if got := b.Rate(); got != c.want {
			t.Errorf("70 are taken, and the limit is %v: the rate is %v, want %v", c.top, got, c.want)
		}
	}
	b = newBudget(0, nil)
	b.SetRate(5)
	if got := b.Rate(); got != 0 {
		t.Errorf("nothing is configured: the rate is %v, want none", got)
	}
}
