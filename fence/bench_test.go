package fence_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

func openGate() *fence.Gate {
	g, l := fence.New("s", nil)
	l.Open(token, 0, math.MaxInt64)
	return g
}

// BenchmarkRawClock is the lower bound of every check: one reading of the clock.
func BenchmarkRawClock(b *testing.B) {
	for b.Loop() {
		_ = fence.Boottime()
	}
}

// BenchmarkRequire should stay within 50 ns of BenchmarkRawClock. It measures both in
// one run, since two runs on a busy machine cannot be compared.
func BenchmarkRequire(b *testing.B) {
	g := openGate()
	b.ReportAllocs()
	start := time.Now()
	for b.Loop() {
		_, _ = g.Require(fence.Act)
	}
	check := float64(time.Since(start)) / float64(b.N)
	b.StopTimer()
	start = time.Now()
	for range b.N {
		_ = fence.Boottime()
	}
	clock := float64(time.Since(start)) / float64(b.N)
	b.ReportMetric(check/clock, "checks/clock")
	b.ReportMetric(check-clock, "ns-above-clock")
}

func BenchmarkIsOpen(b *testing.B) {
	g := openGate()
	for b.Loop() {
		_ = g.IsOpen(fence.Act)
	}
}

func BenchmarkRequireParallel(b *testing.B) {
	g := openGate()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			_, _ = g.Require(fence.Act)
		}
	})
}

func BenchmarkRequireShut(b *testing.B) {
	g, _ := fence.New("s", nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = g.Require(fence.Act)
	}
}

func BenchmarkDo(b *testing.B) {
	g := openGate()
	b.ReportAllocs()
	act := func(context.Context, fence.Token) error { return nil }
	for b.Loop() {
		_ = g.Do(b.Context(), fence.Act, time.Second, act)
	}
}
