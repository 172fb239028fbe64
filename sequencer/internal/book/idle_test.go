package book

import (
	"runtime"
	"testing"
)

// What a contract costs that nobody uses: ten thousand empty books.
func TestEmptyBooksAreSmall(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const books, most = 10_000, 2048
	all := make([]*Book, books)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		b := open(t, 0)
		w := whole(1, "a")
		hears(t, b, w)
		lands(t, b, w)
		lands(t, b, whole(2, "", output(w, 0)))
		hears(t, b, whole(2, "", output(w, 0)))
		for range deal.Depth + deal.Life {
			lands(t, b)
		}
		b.Final()
		all[i] = b
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / books; each > most {
		t.Errorf("an empty book has %d bytes, want %d at most", each, most)
	} else {
		t.Logf("an empty book has %d bytes", each)
	}
	runtime.KeepAlive(all)
}

// A book is idle only when a store has all of it: not while an attempt may land, has landed and is not final, or is missing.
func TestABookIsIdleOnceAllIsFinal(t *testing.T) {
	t.Parallel()
	b := open(t, 0)
	first, second := whole(1, "a"), whole(2, "b")
	for _, step := range []struct {
		name string
		do   func()
		idle bool
	}{
		{"empty", func() {}, true},
		{"heard", func() { hears(t, b, first) }, false},
		{"landed", func() { lands(t, b, first) }, false},
		{"final", func() {
			for range deal.Depth {
				lands(t, b)
			}
		}, true},
		{"missing", func() {
			for range deal.Depth + 1 {
				lands(t, b, second)
				second = whole(2, "b")
			}
		}, false},
		{"heard late, and in doubt", func() { hears(t, b, second) }, false},
		{"vouched for", func() { b.Vouch(b.Late()...) }, true},
	} {
		if step.do(); b.Idle() != step.idle {
			t.Errorf("%s: idle is %v, want %v", step.name, b.Idle(), step.idle)
		}
	}
}
