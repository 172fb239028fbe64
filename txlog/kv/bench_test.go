package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
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

// BenchmarkGoal is what one goal costs the leader without its disk: execute, apply, hash. Beside it, a hundred goals of each in turn: the same
// with a plain sum of SHA-256, which is no hash to rely on.
func BenchmarkGoal(b *testing.B) {
	for _, keys := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			s, p := full(b, keys), &summed{State: full(b, keys)}
			var tree, plain time.Duration
			const turn = 100
			for i := 0; b.Loop(); i++ {
				timed(&tree, func() { puts(b, s, keys, i*turn, turn) })
				timed(&plain, func() { puts(b, p, keys, i*turn, turn) })
			}
			b.ReportMetric(float64(tree.Nanoseconds())/turn/float64(b.N), "ns/goal")
			b.ReportMetric(float64(plain)/float64(tree), "of-plain")
		})
	}
}

// puts runs so many goals.
func puts(b *testing.B, s txlog.State, keys, from, n int) {
	b.Helper()
	for i := from; i < from+n; i++ {
		o := txlog.Run(s, fmt.Appendf(nil, `{"op":"put","key":"allow/%014d","value":"%0100d"}`, i*104729%keys, i))
		if err := s.Apply(o.Diff); err != nil || o.Fault != "" {
			b.Fatal(o.Fault, err)
		}
		s.Hash()
	}
}

func timed(of *time.Duration, do func()) {
	began := time.Now()
	do()
	*of += time.Since(began)
}

// summed is a store whose hash is a plain sum.
type summed struct {
	*State

	sum plainSum
}

type plainSum [4]uint64

func (s *plainSum) swap(before, after txlog.Hash) {
	borrow, carry := uint64(0), uint64(0)
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], binary.LittleEndian.Uint64(before[8*i:]), borrow)
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(after[8*i:]), carry)
	}
}

func (s *summed) Apply(diff []byte) error {
	steps, err := parseDiff(diff, nil)
	for _, c := range steps {
		if c.at = s.values.look(string(c.key)); c.at.text() != string(c.before) {
			return mismatch(string(c.key))
		}
		s.sum.swap(s.exchange(c))
	}
	return err
}

func (s *summed) Hash() (h txlog.Hash) {
	for i, n := range s.sum {
		binary.LittleEndian.PutUint64(h[8*i:], n)
	}
	return h
}

// BenchmarkScrub is what a scrub costs: a snapshot of 100,000 keys is written down, read, and hashed. Beside it, in turn: the same with a plain sum of
// SHA-256, which is no hash to rely on, and SHA-256 of the snapshot.
func BenchmarkScrub(b *testing.B) {
	s := full(b, 100_000)
	b.SetBytes(int64(s.size))
	var tree, plain, bare time.Duration
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

// summedUp reads a snapshot, and sums up the hashes of its entries.
func summedUp(snapshot []byte) (pieces [][]held, sum plainSum) {
	for r := (reader{rest: snapshot[len(header):]}); len(r.rest) > 0; {
		entry := r.rest
		if key, value := r.text(), r.text(); !isKey(key) || !isValue(value) {
			return pieces, sum
		}
		v := newHeld(entry[:len(entry)-len(r.rest)])
		if n := len(pieces); n == 0 || len(pieces[n-1]) == mostInPiece/2 {
			pieces = append(pieces, make([]held, 0, mostInPiece/2))
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, v)
		sum.swap(txlog.Hash{}, v.sum())
	}
	return pieces, sum
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
