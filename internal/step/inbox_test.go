package step_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/step"
)

// A wake that rings while the one before is looked at is not lost.
func TestARingIsNeverLost(t *testing.T) {
	t.Parallel()
	w := step.NewWake()
	for range 3 {
		w.Ring() // it never waits
	}
	<-w
	select {
	case <-w:
		t.Error("three rings are two")
	default:
	}
	w.Ring()
	select {
	case <-w:
	default:
		t.Error("a ring after the look is lost")
	}
}

// Inputs of several goroutines all come, those of each in its order, and the loop never sleeps while one waits.
func TestEveryInputComes(t *testing.T) {
	t.Parallel()
	const senders, each = 4, 2000
	inbox := step.NewInbox[[2]int]()
	var group sync.WaitGroup
	for s := range senders {
		group.Go(func() {
			for i := range each {
				inbox.Put([2]int{s, i})
			}
		})
	}
	var next [senders]int
	got := 0
	l := step.Loop[[2]int]{
		From: inbox, Tick: func() [][2]int { return [][2]int{{-1}} },
		Wait: func() (time.Duration, bool) { return time.Minute, true },
		Feed: func(all [][2]int) error {
			for _, in := range all {
				if in[0] < 0 {
					return errors.New("an input waits, and the loop sleeps")
				}
				if in[1] != next[in[0]] {
					t.Errorf("sender %d: %d came when %d was next", in[0], in[1], next[in[0]])
				}
				next[in[0]]++
				got++
			}
			if got == senders*each {
				return errEnough
			}
			return nil
		},
	}
	if err := l.Run(t.Context()); !errors.Is(err, errEnough) {
		t.Errorf("%d of %d inputs came: %v", got, senders*each, err)
	}
	group.Wait()
}

// What comes after the end is dropped, and nothing keeps it.
func TestWhatComesAfterTheEndIsDropped(t *testing.T) {
	t.Parallel()
	inbox := step.NewInbox("one", "two")
	if got := inbox.Close(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q was left, want what was not fed", got)
	}
	if inbox.Put("three") {
		t.Error("a closed inbox has taken an input")
	}
	if got := inbox.Take(); got != nil {
		t.Errorf("a closed inbox keeps %q", got)
	}
}

// The order is binding, and what was not stored is not said.
func TestTheOrderOfAnOutput(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]error{"stored": nil, "not stored": errEnough} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done []string
			out := step.Output[string, string, string]{Gives: []string{"give"}, Writes: []string{"write"}, Acts: []string{"act"}}
			err := out.Do(
				func(all []string) { done = append(done, all...) },
				func(all []string) error { done = append(done, all...); return fails },
				func(all []string) error { done = append(done, all...); return nil },
			)
			want := []string{"give", "write", "act"}
			if fails != nil {
				want = want[:2]
			}
			if !slices.Equal(done, want) || !errors.Is(err, fails) {
				t.Errorf("done %q, and %v; want %q", done, err, want)
			}
		})
	}
}
