package keyed_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/kv"
)

// full returns a store with keys of 20 bytes and values of 100.
func full(b *testing.B, keys int) *kv.State {
	b.Helper()
	s, _ := kv.New().(*kv.State)
	for i := range keys {
		s.Fill(fmt.Appendf(nil, "allow/%014d", i*7919%keys), fmt.Appendf(nil, `j"%098d"`, i))
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
	*kv.State

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

func (s *summed) Apply(diff []byte) error { return s.ApplyBare(diff, s.sum.swap) }

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
	b.SetBytes(int64(s.Size()))
	var tree, plain, bare time.Duration
	for b.Loop() {
		timed(&tree, func() {
			made := kv.New()
			if err := made.Restore(s.Snapshot()); err != nil || made.Hash() != s.Hash() {
				b.Fatal(err)
			}
		})
		timed(&plain, func() { summedUp(s, s.Snapshot()) })
		timed(&bare, func() { _ = sha256.Sum256(s.Snapshot()) })
	}
	b.ReportMetric(float64(tree.Microseconds())/1000/float64(b.N), "ms-tree")
	b.ReportMetric(float64(tree)/float64(plain), "of-plain")
	b.ReportMetric(float64(tree)/float64(bare), "of-sha256")
}

// summedUp reads a snapshot, and sums up the hashes of its entries.
func summedUp(s *kv.State, snapshot []byte) (pieces [][]keyed.Entry, sum plainSum) {
	for v, hash := range s.Rules().Entries(snapshot) {
		if n := len(pieces); n == 0 || len(pieces[n-1]) == keyed.MostInPiece/2 {
			pieces = append(pieces, make([]keyed.Entry, 0, keyed.MostInPiece/2))
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, v)
		sum.swap(txlog.Hash{}, hash)
	}
	return pieces, sum
}
