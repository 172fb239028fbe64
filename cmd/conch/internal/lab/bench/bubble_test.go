//go:build unix

package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A ceiling that is polled less often than its figure is too high on average.
func TestFigureAndCeilingArePolledAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []time.Duration{0, 1400 * time.Microsecond, 6100 * time.Microsecond, 23700 * time.Microsecond} {
			began := time.Now()
			there := func() (bool, error) { return time.Since(began) >= at, nil }
			took, err := timeUntil(t.Context(), began, event{"the figure", there}, event{"the ceiling", there})
			if err != nil {
				t.Fatal(err)
			}
			for i, one := range took {
				if late := one - at; late < 0 || late > time.Millisecond {
					t.Errorf("event %d at %s was noticed %s late", i, at, late)
				}
			}
		}
		fault := errors.New("gone")
		_, err := timeUntil(t.Context(), time.Now(), event{"one", func() (bool, error) { return true, nil }}, event{"two", func() (bool, error) { return false, fault }})
		if !errors.Is(err, fault) {
			t.Errorf("a poll that failed: got %v, want its error", err)
		}
	})
}

// There is no figure for rest while scopes are elected anew or an elector is gone.
func TestOnlyRestIsCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(led *int, epochs *int64, ended chan<- error)
		says      string
	}{
		"at rest":          {func(*int, *int64, chan<- error) {}, ""},
		"an elector ended": {func(_ *int, _ *int64, ended chan<- error) { ended <- errors.New("full") }, "an elector ended unexpectedly: full"},
		"without a word":   {func(_ *int, _ *int64, ended chan<- error) { ended <- nil }, "an elector ended unexpectedly"},
		"scopes were lost": {func(led *int, _ *int64, _ chan<- error) { *led = 8 }, "8 of 10 scopes were led after the count"},
		"and led again":    {func(_ *int, epochs *int64, _ chan<- error) { *epochs += 2 }, "2 were elected anew during it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				led, epochs, ended := 10, int64(10), make(chan error, 2)
				two := resting{scopes: 10, ended: ended, led: func(context.Context) (int, int64, error) { return led, epochs, nil }}
				n, _, err := two.count(t.Context(), time.Second, func() (float64, string, error) {
					c.meanwhile(&led, &epochs, ended)
					return 1.5, "hand", nil
				})
				if c.says == "" {
					if n != 1.5 || err != nil {
						t.Errorf("got %v, %v; want 1.5 and no error", n, err)
					}
				} else if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
			})
		})
	}
}
