package fence_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
)

// The gate remembers the promise of each answer to an outside caller. A call that makes
// no promise does not delay a handover (G3, G7, S14).
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
			t.Errorf("%s, outside %t: answers expire at %d, want %d to %d", name, outside, got, least, most)
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

// No answer is valid after the deadline, so that the deadline covers a crash.
func TestAnswerWithinDeadline(t *testing.T) {
	t.Parallel()
	g, l, _ := manualGate("s")
	out := g.Outside()
	l.Open(token, 5, 300)
	var shut *fence.ShutError
	if _, _, err := out.Answer(fence.Act, time.Second); !errors.As(err, &shut) || !errors.Is(err, fence.ErrHolding) {
		t.Errorf("Answer at the act door in the hold: %v, want %v", err, fence.ErrHolding)
	}
	if got := l.Answers(); got != 0 {
		t.Errorf("a refusal promised %d, want 0", got)
	}
	if _, life, err := out.Answer(fence.Fenced, time.Second); err != nil || life != 300 {
		t.Errorf("Answer at the fenced door: valid for %d, %v, want 300", life, err)
	}
	l.Open(token, 0, 300)
	if tok, life, err := out.Answer(fence.Act, time.Second); err != nil || life != 300 || tok != token {
		t.Errorf("Answer at the act door: valid for %d, %v, %+v, want 300", life, err, tok)
	}
	// Require does not return a time, so it promises all of AnswerLife or refuses.
	if _, err := out.Require(fence.Act); !errors.Is(err, fence.ErrTooLong) {
		t.Errorf("Require from outside with less than AnswerLife left: %v, want %v", err, fence.ErrTooLong)
	}
	if _, err := g.Require(fence.Act); err != nil {
		t.Errorf("Require inside the role: %v", err)
	}
	if _, err := out.Require(fence.Fenced); err != nil {
		t.Errorf("Require from outside at the fenced door: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := out.Wait(ctx, fence.Act); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait with less than AnswerLife left: %v, want %v", err, context.DeadlineExceeded)
	}
	l.Extend(fence.Instant(time.Hour))
	if _, err := out.Wait(t.Context(), fence.Act); err != nil {
		t.Errorf("Wait with an hour left: %v", err)
	}
	l.Shut(fence.ErrStale)
	if _, _, err := out.Answer(fence.Act, time.Second); !errors.As(err, &shut) {
		t.Errorf("Answer of a shut gate: %v, want a *ShutError", err)
	}
}

// A promise stands, whatever happens to the deadline (R5).
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
		t.Errorf("answers expire at %d, want %d as before Shut, and at least 1.1s", got, was)
	}
}

// A latch that has shut the gate reads the promise of every answer (R5).
func TestAnswerAgainstShut(t *testing.T) {
	t.Parallel()
	var asking atomic.Bool
	for round := range 40_000 {
		asking.Store(false)
		// Answer reads the clock when it begins: from there on both goroutines run.
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
			t.Fatalf("round %d: the gate gave an answer valid for 1s, and the latch reads the promise %d", round, owed)
		}
	}
}

// Drain waits until all answers have expired, and not longer.
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
			t.Errorf("Drain took %s, want %s to 600ms", took, fence.AnswerLife)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l.Open(token, 0, fence.Instant(time.Hour))
		_, _, _ = g.Outside().Answer(fence.Act, time.Minute)
		l.Shut(fence.ErrStale)
		if err := l.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain whose context ends first: %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// A term can be parsed from its text, in either letter case.
func FuzzTerm(f *testing.F) {
	f.Add(make([]byte, 16))
	f.Add([]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var term fence.Term
		copy(term[:], b)
		text := term.String()
		if len(text) != 36 || text != strings.ToLower(text) || strings.Count(text, "-") != 4 {
			t.Errorf("String returned %q, want a lower-case UUID", text)
		}
		value, err := term.Value()
		if err != nil || value != text {
			t.Errorf("Value returned %v and %v, want %q", value, err, text)
		}
		for _, from := range []any{text, []byte(text), strings.ToUpper(text), term[:]} {
			var back fence.Term
			if err := back.Scan(from); err != nil || back != term {
				t.Errorf("Scan(%q) gave %q and %v, want %q", from, back, err, term)
			}
		}
		for _, s := range []string{text, strings.ToUpper(text)} {
			if back, err := fence.ParseTerm(s); err != nil || back != term {
				t.Errorf("ParseTerm(%q) returned %q and %v, want %q", s, back, err, term)
			}
		}
	})
}

func FuzzParseTerm(f *testing.F) {
	f.Add("00112233-4455-6677-8899-aabbccddeeff")
	f.Add("")
	f.Add("00112233-4455-6677-8899-aabbccddeefg")
	f.Add("001122334455-6677-8899-aabbccddeeff--")
	f.Fuzz(func(t *testing.T, s string) {
		term, err := fence.ParseTerm(s)
		switch {
		case err != nil && term != (fence.Term{}):
			t.Errorf("ParseTerm(%q) returned an error and %s, want the zero term", s, term)
		case err == nil && term.String() != strings.ToLower(s):
			t.Errorf("ParseTerm(%q) returned %s", s, term)
		}
	})
}

func TestTermsThatAreNone(t *testing.T) {
	for _, s := range []string{
		"", "7", "00112233445566778899aabbccddeeff", "{0011223-4455-6677-8899-aabbccddeeff}", "00112233-4455-6677-8899-aabbccddeefg",
		"00112233+4455-6677-8899-aabbccddeeff", "00112233-4455+6677-8899-aabbccddeeff", "00112233-4455-6677+8899-aabbccddeeff", "00112233-4455-6677-8899+aabbccddeeff",
	} {
		if term, err := fence.ParseTerm(s); err == nil {
			t.Errorf("ParseTerm(%q) returned %s, want an error", s, term)
		}
	}
}

func TestSame(t *testing.T) {
	other := token
	other.Holder, other.System, other.Timeline = "b", 0, 0
	if !token.Same(token) || !token.Same(other) {
		t.Error("Same is false for two tokens of one term")
	}
	for _, change := range []func(*fence.Token){
		func(t *fence.Token) { t.Scope = "other" }, func(t *fence.Token) { t.Epoch++ }, func(t *fence.Token) { t.Term[15]++ },
	} {
		other := token
		change(&other)
		if token.Same(other) {
			t.Errorf("Same is true for %s and %s", other, token)
		}
	}
	for _, word := range []string{"s ", "epoch 7", "01000000-0000-0000-0000-000000000000", "holder a"} {
		if !strings.Contains(token.String(), word) {
			t.Errorf("%q does not contain %q", token, word)
		}
	}
}

// Scan refuses everything that is not a term, and NULL too: every token has a term.
func TestColumnsThatAreNoTerm(t *testing.T) {
	for _, from := range []any{nil, 7, "7", "", []byte{}, []byte("0123456789abcde"), []byte("0123456789abcdefg"), [16]byte{1}} {
		term := fence.Term{1}
		if err := term.Scan(from); err == nil || !strings.HasPrefix(err.Error(), "fence: ") {
			t.Errorf("Scan(%v) gave %s and %v, want an error", from, term, err)
		}
	}
}

func TestATermInJSON(t *testing.T) {
	type proof struct{ Term fence.Term }
	in := proof{token.Term}
	text, err := json.Marshal(in)
	if want := `{"Term":"` + token.Term.String() + `"}`; err != nil || string(text) != want {
		t.Errorf("Marshal returned %s and %v, want %s", text, err, want)
	}
	var out proof
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("Unmarshal(%s) gave %v and %v, want %v", text, out, err, in)
	}
	if err := json.Unmarshal([]byte(`{"Term":"7"}`), &out); err == nil {
		t.Errorf("Unmarshal of a term of one character gave %s, want an error", out.Term)
	}
}
