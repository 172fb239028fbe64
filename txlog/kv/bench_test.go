package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

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

// BenchmarkScrub is what a scrub costs: a snapshot of 100,000 keys is written down, read, and hashed. Beside it, in turn: the same with a plain sum of
// SHA-256, which is no hash to rely on, and SHA-256 of the snapshot.
func BenchmarkScrub(b *testing.B) {
	s := full(b, 100_000)
	b.SetBytes(int64(s.size))
	var tree, plain, bare time.Duration
	timed := func(of *time.Duration, do func()) {
		began := time.Now()
		do()
		*of += time.Since(began)
	}
	for b.Loop() {
		timed(&tree, func() {
			made := empty()
			if err := made.Restore(s.Snapshot()); err != nil || made.Hash() != s.Hash() {
				b.Fatal(err)
			}
		})
		timed(&plain, func() { summedUp(s.Snapshot()) })
		timed(&bare, func() { _ = sha256.Sum256(s.Snapshot()) })
	}
	b.ReportMetric(float64(tree.Microseconds())/1000/float64(b.N), "ms-tree")
	b.ReportMetric(float64(tree)/float64(plain), "of-plain")
	b.ReportMetric(float64(tree)/float64(bare), "of-sha256")
}

// summedUp reads a snapshot as Restore does, and sums up the hashes of its entries.
func summedUp(snapshot []byte) (values sorted, sum [4]uint64) {
	for r := (reader{rest: snapshot[len(header):]}); len(r.rest) > 0; {
		entry := r.rest
		if key, value := r.text(), r.text(); !isKey(key) || !isValue(value) {
			return values, sum
		}
		v := newHeld(entry[:len(entry)-len(r.rest)])
		values.add(v)
		h := v.sum()
		for i := range sum {
			sum[i] += binary.LittleEndian.Uint64(h[8*i:])
		}
	}
	return values, sum
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
