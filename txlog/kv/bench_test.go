package kv

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// full returns a store with keys of 20 bytes and values of 100.
func full(b *testing.B, keys int) *State {
	b.Helper()
	s := empty()
	for i := range keys {
		s.set(step{key: fmt.Appendf(nil, "allow/%014d", i*7919%keys), after: fmt.Appendf(nil, `j"%098d"`, i)})
	}
	return s
}

// BenchmarkGoal is what one goal costs the leader without its disk: execute, apply, hash.
func BenchmarkGoal(b *testing.B) {
	for _, keys := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			s := full(b, keys)
			for i := 0; b.Loop(); i++ {
				o := txlog.Run(s, fmt.Appendf(nil, `{"op":"put","key":"allow/%014d","value":"%0100d"}`, i%keys, i))
				if err := s.Apply(o.Diff); err != nil || o.Fault != "" {
					b.Fatal(o.Fault, err)
				}
				s.Hash()
			}
		})
	}
}

// BenchmarkScrub is what a scrub costs: the whole store is written down, read, and hashed.
func BenchmarkScrub(b *testing.B) {
	s := full(b, 100_000)
	b.SetBytes(int64(s.size))
	for b.Loop() {
		if err := New().Restore(s.Snapshot()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuery reads one key, and a list of a hundred.
func BenchmarkQuery(b *testing.B) {
	s := full(b, 100_000)
	for _, query := range []string{`{"get":"allow/00000000004711"}`, `{"prefix":"allow/","after":"allow/00000000004711"}`} {
		b.Run(query[2:5], func(b *testing.B) {
			for b.Loop() {
				if _, err := txlog.Ask(s.View(), []byte(query)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
