package world

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// World runs events in the order of their instants.
type World struct {
	now   time.Duration // true time since the start
	queue []event       // a heap
	taken map[time.Duration]struct{}
	rng   *rand.Rand
	steps int
	hash  uint64
	trace io.Writer
}

type event struct {
	at  time.Duration
	run func()
}

// New returns a world at its start. If trace is not nil, it receives a line for each note.
func New(seed uint64, trace io.Writer) *World {
	return &World{
		rng:   rand.New(rand.NewPCG(seed, 0x636f6e6368)),
		taken: map[time.Duration]struct{}{}, hash: 14695981039346656037, trace: trace,
	}
}

// Now returns true time.
func (w *World) Now() time.Duration { return w.now }

// Steps returns the number of events so far.
func (w *World) Steps() int { return w.steps }

// Hash returns a hash of all events and notes so far.
func (w *World) Hash() uint64 { return w.hash }

// After schedules f after d, at an instant that no other event has, and never now.
func (w *World) After(d time.Duration, f func()) {
	at := w.now + max(d, 1)
	for {
		if _, taken := w.taken[at]; !taken {
			break
		}
		at++
	}
	w.taken[at] = struct{}{}
	w.push(event{at: at, run: f})
}

// When looks again and again whether something is so, and then does something.
func (w *World) When(each time.Duration, is func() bool, do func()) {
	w.After(each, func() {
		if is() {
			do()
		} else {
			w.When(each, is, do)
		}
	})
}

// Again does something after a while, or at once if that is 0, and then again and again, each time after as long as it says. It ends
// when it says 0.
func (w *World) Again(wait time.Duration, do func() time.Duration) {
	next := func() {
		if wait := do(); wait > 0 {
			w.Again(wait, do)
		}
	}
	if wait > 0 {
		w.After(wait, next)
	} else {
		next()
	}
}

// Next returns the instant of the next event; false if there is none.
func (w *World) Next() (time.Duration, bool) {
	if len(w.queue) == 0 {
		return 0, false
	}
	return w.queue[0].at, true
}

// Step runs the next event. It returns false if there is none.
func (w *World) Step() bool {
	if len(w.queue) == 0 {
		return false
	}
	e := w.pop()
	delete(w.taken, e.at)
	w.now = e.at
	w.steps++
	w.Mark(int64(e.at))
	e.run()
	return true
}

// Until runs all events up to an instant.
func (w *World) Until(end time.Duration) {
	for {
		if next, is := w.Next(); !is || next > end {
			return
		}
		w.Step()
	}
}

// Note adds a fact to the hash and the trace.
func (w *World) Note(who, what string, n int64) {
	for _, text := range [2]string{who, what} {
		for i := range len(text) {
			w.Mark(int64(text[i]))
		}
	}
	w.Mark(n)
	if w.trace != nil {
		_, _ = fmt.Fprintf(w.trace, "%6d %14s %-10s %s %d\n", w.steps, w.now, who, what, n)
	}
}

// Mark adds a number to the hash.
func (w *World) Mark(n int64) {
	const prime = 1099511628211 // of FNV-1a, a word at a time
	h := (w.hash ^ uint64(n)) * prime
	w.hash = h ^ h>>29
}

// Between draws a duration from [lo, hi).
func (w *World) Between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)))
}

// Chance returns true with probability p.
func (w *World) Chance(p float64) bool { return w.rng.Float64() < p }

// Pick draws from [0, n).
func (w *World) Pick(n int) int { return w.rng.IntN(n) }

// Weighed draws one of several, by a function that draws below a number: each as often as its weight says.
func Weighed[T any](pick func(int) int, all []T, weight func(T) int) (one T) {
	sum := 0
	for _, one := range all {
		sum += weight(one)
	}
	at := pick(sum)
	for _, one := range all {
		if at -= weight(one); at < 0 {
			return one
		}
	}
	return one
}

// Draw draws 64 random bits, for the seed of another source.
func (w *World) Draw() uint64 { return w.rng.Uint64() }

// push adds an event to the queue, a binary heap. container/heap would box each event.
func (w *World) push(e event) {
	q := append(w.queue, e)
	at := len(q) - 1
	for at > 0 {
		up := (at - 1) / 2
		if q[up].at < e.at {
			break
		}
		q[at], at = q[up], up
	}
	q[at], w.queue = e, q
}

func (w *World) pop() event {
	q := w.queue
	first, last := q[0], q[len(q)-1]
	q[len(q)-1].run = nil // what has run keeps nothing
	q = q[:len(q)-1]
	for at, down := 0, 1; len(q) > 0; at, down = down, 2*down+1 {
		if down+1 < len(q) && q[down+1].at < q[down].at {
			down++
		}
		if down >= len(q) || last.at < q[down].at {
			q[at] = last
			break
		}
		q[at] = q[down]
	}
	w.queue = q
	return first
}
