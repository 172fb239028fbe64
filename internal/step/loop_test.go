package step_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/step"
)

var errEnough = errors.New("enough")

// clock is a core that wants to hear of the time every second, and keeps what it was fed.
type clock struct {
	began time.Time
	next  time.Duration
	heard []string
	feed  func(in string) error // may be nil
}

func (c *clock) wait() (time.Duration, bool) { return c.next - time.Since(c.began), true }

func (c *clock) take(in string) error {
	c.heard = append(c.heard, in)
	if in == "tick" {
		c.next += time.Second
	}
	if c.feed == nil {
		return nil
	}
	return c.feed(in)
}

func never() (time.Duration, bool) { return 0, false }

func tick() []string { return []string{"tick"} }

func loopOf(ctx context.Context, c *clock, from *step.Inbox[string]) step.Loop[string] {
	c.began, c.next = time.Now(), time.Second
	return step.Loop[string]{From: from, Wait: c.wait, Tick: tick, Feed: step.Each(ctx, c.take)}
}

// A core whose every answer is another input hears of the time all the same, and of the end.
func TestAFloodOfInputsDoesNotStopTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		inbox := step.NewInbox("again")
		c := &clock{}
		ticks := 0
		c.feed = func(in string) error {
			if in == "tick" {
				ticks++
				return nil
			}
			time.Sleep(time.Millisecond)
			inbox.Put("again")
			if len(c.heard) > 20_000 {
				return errEnough
			}
			return nil
		}
		if err := loopOf(ctx, c, inbox).Run(ctx); !errors.Is(err, context.DeadlineExceeded) || ticks != 10 {
			t.Errorf("there were %d ticks, want 10, and the loop ended with %v", ticks, err)
		}
	})
}

// Others who never stop talking shut out neither this process nor the time.
func TestAFloodOnTheLineShutsNothingOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inbox, line := step.NewInbox[string](), make(chan int, 2*step.MostAtOnce)
		c := &clock{}
		fill := func() {
			for len(line) < cap(line) {
				line <- 0
			}
		}
		fill()
		c.feed = func(in string) error {
			switch {
			case in == "own":
				return errEnough
			case in == "tick":
				inbox.Put("own")
			case len(c.heard) > 1_000_000:
				return errors.New("nothing but the line is heard")
			}
			fill()
			return nil
		}
		l := loopOf(t.Context(), c, inbox)
		l.Feed = func(all []string) error {
			time.Sleep(300 * time.Millisecond)
			return step.Each(t.Context(), c.take)(all)
		}
		read := func(int) string { return "line" }
		if err := step.Hear(t.Context(), l, line, read); !errors.Is(err, errEnough) {
			t.Error(err)
		}
		if got, want := slices.Index(c.heard, "tick"), 5*step.MostAtOnce; got != want {
			t.Errorf("the tick came after %d messages, want %d", got, want)
		}
		if got := len(c.heard) - slices.Index(c.heard, "tick"); got != 2 {
			t.Errorf("this process was heard %d inputs after the tick, want with the next one", got)
		}
	})
}

// Of two lines the one on which others never stop talking does not shut out the other, and each stays in its order.
func TestTheBusierOfTwoLines(t *testing.T) {
	t.Parallel()
	for _, swapped := range []bool{false, true} {
		busy, calm := make(chan int, 2*step.MostAtOnce), make(chan int, 3)
		for i := range cap(busy) {
			busy <- i
		}
		for i := range cap(calm) {
			calm <- -1 - i
		}
		line, other := busy, calm
		if swapped {
			line, other = calm, busy
		}
		var heard []int
		l := step.Loop[int]{From: step.NewInbox[int](), Wait: never, Feed: func(all []int) error {
			heard = all
			return errEnough
		}}
		if err := step.HearBoth(t.Context(), l, line, other, func(in int) int { return in }); !errors.Is(err, errEnough) {
			t.Error(err)
		}
		var calls, talk []int
		for _, in := range heard {
			if in < 0 {
				calls = append(calls, in)
			} else {
				talk = append(talk, in)
			}
		}
		if len(heard) != step.MostAtOnce || !slices.Equal(calls, []int{-1, -2, -3}) || !slices.IsSorted(talk) {
			t.Errorf("swapped: %v: of %d messages the calm line has %d; the busy one said %d", swapped, len(heard), calls, talk)
		}
	}
}

// What waits is fed in the order of the rules: this process, the others, the time.
func TestTheOrderOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // a select draws
			inbox, line := step.NewInbox("own 1", "own 2"), make(chan string, 2)
			line <- "line 1"
			line <- "line 2"
			c := &clock{}
			l := loopOf(t.Context(), c, inbox)
			c.next = 0
			l.Feed = func(all []string) error {
				c.heard = all
				return errEnough
			}
			_ = step.Hear(t.Context(), l, line, func(in string) string { return in })
			if want := []string{"own 1", "own 2", "line 1", "line 2", "tick"}; !slices.Equal(c.heard, want) {
				t.Fatalf("fed %q, want %q", c.heard, want)
			}
		}
	})
}

// The end comes before inputs and a tick that wait, and between two inputs of a batch.
func TestTheEndComesFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   string // at which input the end comes
		want []string
	}{
		"before the next batch":  {at: "two", want: []string{"one", "two"}},
		"within a batch":         {at: "one", want: []string{"one"}},
		"before anything is fed": {want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for range 50 { // a select draws
					ctx, cancel := context.WithCancelCause(t.Context())
					inbox := step.NewInbox("one", "two")
					core := &clock{}
					core.feed = func(in string) error {
						inbox.Put("three")
						if in == c.at {
							time.Sleep(time.Minute) // a tick is due
							cancel(errEnough)
						}
						return nil
					}
					if c.at == "" {
						cancel(errEnough)
					}
					if err := loopOf(ctx, core, inbox).Run(ctx); !errors.Is(err, errEnough) || !slices.Equal(core.heard, c.want) {
						t.Fatalf("fed %q and ended with %v, want %q", core.heard, err, c.want)
					}
					cancel(nil)
				}
			})
		})
	}
}

// A write that stands ends with the loop's context, and nothing is said of it.
func TestTheEndIsHeardWhileAWriteStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errEnough) })
		inbox := step.NewInbox("one", "two")
		core, acted := &clock{}, false
		core.feed = func(string) error {
			out := step.Output[int, int, int]{Writes: []int{1}, Acts: []int{1}}
			return out.Do(func([]int) {}, func([]int) error {
				<-ctx.Done()
				return ctx.Err()
			}, func([]int) error {
				acted = true
				return nil
			})
		}
		began := time.Now()
		if err := loopOf(ctx, core, inbox).Run(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute {
			t.Errorf("the loop ended after %v with %v", time.Since(began), err)
		}
		if acted || len(core.heard) != 1 {
			t.Errorf("fed %q, and acted: %v", core.heard, acted)
		}
	})
}

// A core that is due again and again leaves the processor to what it waits for; one that has just become due does not wait.
func TestACoreThatStaysDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond+time.Microsecond)
		defer cancel()
		began := time.Now()
		var at []time.Duration
		l := step.Loop[string]{
			From: step.NewInbox[string](), Tick: tick,
			Wait: func() (time.Duration, bool) { return -time.Hour, true },
			Feed: func([]string) error {
				if at = append(at, time.Since(began)); len(at) > 100 {
					return errEnough
				}
				return nil
			},
		}
		if err := l.Run(ctx); !errors.Is(err, context.DeadlineExceeded) || len(at) != 11 || at[0] != 0 || at[10] != 10*time.Millisecond {
			t.Errorf("told at %v, and ended with %v", at, err)
		}
	})
}

// A ring for what was taken already feeds nothing.
func TestABatchIsNeverEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inbox := step.NewInbox("one")
		inbox.Take()
		l := step.Loop[string]{From: inbox, Wait: never, Tick: tick, Feed: func(all []string) error {
			t.Errorf("fed %q", all)
			return nil
		}}
		if err := l.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// After a step that fails nothing is fed.
func TestAStepThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clock{feed: func(string) error { return errEnough }}
		if err := loopOf(t.Context(), c, step.NewInbox("one", "two")).Run(t.Context()); !errors.Is(err, errEnough) || len(c.heard) != 1 {
			t.Errorf("fed %q, and ended with %v", c.heard, err)
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
