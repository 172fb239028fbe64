package keyed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// shape makes keys of two bytes: many begin alike, for longer than a mark, and one may be the beginning of another.
func shape(a, b byte) string {
	long := strings.Repeat("k", int(a%4)*5)
	return []string{long, "k", "", "a", "z"}[int(b)%5] + fmt.Sprint(b/5) + strings.Repeat("0", int(a/4)%3)
}

// row plays a sorted list of keys beside pieces of them, with what each of two bytes says.
func row(t *testing.T, script []byte) {
	t.Helper()
	var x sorted
	var want []string
	for i := 0; i+1 < len(script); i += 2 {
		key := shape(script[i], script[i+1])
		at, is := slices.BinarySearch(want, key)
		switch {
		case script[i] >= 160 && is:
			x.remove(key)
			want = slices.Delete(want, at, at+1)
		case script[i] < 160:
			x.put(holds(key, fmt.Sprint("j", i)))
			if !is {
				want = slices.Insert(want, at, key)
			}
			if got := x.get(key); got.Text() != fmt.Sprint("j", i) {
				t.Fatalf("%q has %q after its value was set", key, got)
			}
		}
		if len(x.pieces) == 1 && len(x.pieces[0].held) > 8 {
			x.halve(0)
		}
	}
	if got := keysOf(x.from("")); x.count != len(want) || !slices.Equal(got, want) {
		t.Fatalf("the keys are %q, want %q", got, want)
	}
	x.judge(t)
	asked := []string{"", "k\x00", "\xff", "kkkkk\x00", strings.Repeat("k", 9)} // no key has such bytes, and questions may
	for a := range 24 {
		asked = append(asked, shape(byte(a), byte(11*a)), shape(byte(a), byte(a)))
	}
	for _, key := range append(asked, want...) {
		at, is := slices.BinarySearch(want, key)
		if v := x.get(key); (v != "") != is || is && v.Key() != key || x.before(key) != at {
			t.Fatalf("%q is there: %t, after %d keys; want %t, after %d of %q", key, v != "", x.before(key), is, at, want)
		}
	}
}

// judge checks what pieces say of their keys. A last value that is none any more would be kept for nothing.
func (x *sorted) judge(t *testing.T) {
	t.Helper()
	var lasts []Entry
	for _, p := range x.pieces {
		lasts = append(lasts, p.held[len(p.held)-1])
	}
	if !slices.Equal(x.lasts.held, lasts) {
		t.Fatalf("the last values are %q, want %q", x.lasts.held, lasts)
	}
	for _, p := range append(x.pieces, &x.lasts) {
		for i, v := range p.held {
			if p.alike > p.common() || p.marks[i] != markOf(v.Key(), p.alike) || len(p.marks) != len(p.held) {
				t.Fatalf("%q is marked %x after %d bytes that are alike, of %d", v.Key(), p.marks[i], p.alike, p.common())
			}
		}
	}
}

// A key is found by the bytes that tell it from its neighbours, however alike keys are: where no mark tells two apart, where a key comes that
// begins otherwise, and where the last one of a piece goes.
func TestAKeyIsFoundAmongOthersAlike(t *testing.T) {
	t.Parallel()
	chance := rand.NewChaCha8([32]byte{43})
	for range 2000 {
		script := make([]byte, 2<<(chance.Uint64()%9))
		_, _ = chance.Read(script) // it never fails
		row(t, script)
	}
}

// FuzzSorted plays any script.
func FuzzSorted(f *testing.F) {
	f.Add([]byte("a1b0a1b3c2d1\xa0a\xb0a5a7"))
	f.Fuzz(row)
}
