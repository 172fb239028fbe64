package fence_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

// An answer that was given outside is an act: what it promises is remembered, and
// what promises nothing costs a handover nothing (G3, G7, S14).
func TestWhatAnAnswerPromises(t *testing.T) {
	t.Parallel()
	const life = fence.Instant(fence.AnswerLife + fence.AnswerLife/10)
	ask := func(door fence.Door) map[string]func(*fence.Gate) {
		return map[string]func(*fence.Gate){
			"Require":     func(g *fence.Gate) { _, _ = g.Require(door) },
			"EnsureEpoch": func(g *fence.Gate) { _ = g.EnsureEpoch(door, 7) },
			"Wait":        func(g *fence.Gate) { _, _ = g.Wait(t.Context(), door) },
		}
	}
	nothing := map[string]func(*fence.Gate){
		"IsOpen":   func(g *fence.Gate) { g.IsOpen(fence.Act) },
		"Left":     func(g *fence.Gate) { g.Left(fence.Act) },
		"Deadline": func(g *fence.Gate) { _, _ = g.Deadline(fence.Act) },
		"Do": func(g *fence.Gate) {
			_ = g.Do(t.Context(), fence.Act, 1, func(context.Context, fence.Token) error { return nil })
		},
		"fenced answer": func(g *fence.Gate) { _, _, _ = g.Answer(fence.Fenced, time.Minute) },
	}
	check := func(name string, f func(*fence.Gate), outside bool, least fence.Instant) {
		g, l, clock := manualGate("s")
		clock.set(1000)
		l.Open(token, 0, fence.Instant(time.Hour))
		if outside {
			g = g.Outside()
		}
		f(g)
		most := least + fence.Instant(51*time.Millisecond)
		if least == 0 {
			most = 0
		}
		if got := l.Answers(); got < least || got > most {
			t.Errorf("%s, outside %t: answers end at %d, want %d to %d", name, outside, got, least, most)
		}
	}
	for name, f := range nothing {
		check(name, f, true, 0)
		check(name, f, false, 0)
	}
	for name, f := range ask(fence.Fenced) {
		check(name+" fenced", f, true, 0)
	}
	for name, f := range ask(fence.Act) {
		check(name, f, true, 1000+life)
		check(name, f, false, 0)
	}
	check("Answer", func(g *fence.Gate) { _, _, _ = g.Answer(fence.Act, 2*time.Second) }, true, 1000+fence.Instant(2200*time.Millisecond))
}

// No answer is longer than what is left of the deadline: a crash is covered by it.
func TestAnswerWithinDeadline(t *testing.T) {
	t.Parallel()
	g, l, _ := manualGate("s")
	out := g.Outside()
	l.Open(token, 5, 300)
	var shut *fence.ShutError
	if _, _, err := out.Answer(fence.Act, time.Second); !errors.As(err, &shut) || !errors.Is(err, fence.ErrHolding) {
		t.Errorf("an act door that holds answers %v", err)
	}
	if got := l.Answers(); got != 0 {
		t.Errorf("a refusal promised %d", got)
	}
	if _, life, err := out.Answer(fence.Fenced, time.Second); err != nil || life != 300 {
		t.Errorf("fenced: %d, %v", life, err)
	}
	l.Open(token, 0, 300)
	if tok, life, err := out.Answer(fence.Act, time.Second); err != nil || life != 300 || tok != token {
		t.Errorf("act: %d, %v, %+v", life, err, tok)
	}
	// Require does not say how long, so it promises all of an answer's life or nothing.
	if _, err := out.Require(fence.Act); !errors.Is(err, fence.ErrTooLong) {
		t.Errorf("with less than the life of an answer left: %v", err)
	}
	if _, err := g.Require(fence.Act); err != nil {
		t.Errorf("a role: %v", err)
	}
	if _, err := out.Require(fence.Fenced); err != nil {
		t.Errorf("fenced: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := out.Wait(ctx, fence.Act); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait beside a gate that is open for an instant: %v", err)
	}
	l.Extend(fence.Instant(time.Hour))
	if _, err := out.Wait(t.Context(), fence.Act); err != nil {
		t.Errorf("and for an hour: %v", err)
	}
	l.Shut(fence.ErrStale)
	if _, _, err := out.Answer(fence.Act, time.Second); !errors.As(err, &shut) {
		t.Errorf("a shut gate answers %v", err)
	}
}

// What was promised stays promised, whatever happens to the deadline (R5).
func TestPromiseIsNotForgotten(t *testing.T) {
	t.Parallel()
	g, l, _ := manualGate("s")
	l.Open(token, 0, fence.Instant(time.Hour))
	if _, _, err := g.Outside().Answer(fence.Act, time.Second); err != nil {
		t.Fatal(err)
	}
	was := l.Answers()
	l.Suspend()
	l.Extend(fence.Instant(2 * time.Hour))
	if _, _, err := g.Outside().Answer(fence.Act, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	l.Shut(fence.ErrLate)
	if got := l.Answers(); got != was || got < fence.Instant(1100*time.Millisecond) {
		t.Errorf("promised until %d, and then until %d", was, got)
	}
}

// The promise is raised before the last look: an answer that is given is one that the
// latch reads after it has shut the gate (R5).
func TestAnswerAgainstShut(t *testing.T) {
	t.Parallel()
	var asking atomic.Bool
	for round := range 40_000 {
		asking.Store(false)
		// The clock is read at the beginning of an answer: from there on both run.
		g, l := fence.New("s", func() fence.Instant { asking.Store(true); return 0 })
		out := g.Outside()
		l.Open(token, 0, fence.Instant(time.Hour))
		var asked sync.WaitGroup
		var err error
		asked.Go(func() { _, _, err = out.Answer(fence.Act, time.Second) })
		for !asking.Load() {
			runtime.Gosched()
		}
		for range round % 64 { // a little later each time
			asking.Load()
		}
		l.Shut(fence.ErrStale)
		owed := l.Answers()
		asked.Wait()
		if err == nil && owed < fence.Instant(time.Second) {
			t.Fatalf("round %d: an answer was given of which the latch knows nothing", round)
		}
	}
}

// A handover waits for the answers, and for no longer.
func TestDrainWaitsForAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g, l := fence.New("s", func() fence.Instant { return fence.Instant(time.Since(begun)) })
		l.Open(token, 0, fence.Instant(time.Hour))
		if _, err := g.Outside().Require(fence.Act); err != nil {
			t.Fatal(err)
		}
		l.Shut(fence.ErrStale)
		if err := l.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < fence.AnswerLife || took > 600*time.Millisecond {
			t.Errorf("drained after %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l.Open(token, 0, fence.Instant(time.Hour))
		_, _, _ = g.Outside().Answer(fence.Act, time.Minute)
		l.Shut(fence.ErrStale)
		if err := l.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a drain that is cut short: %v", err)
		}
	})
}
