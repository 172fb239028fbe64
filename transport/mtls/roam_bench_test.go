//go:build unix

package mtls_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// BenchmarkConnect makes and ends connections between two nodes, one after another. CPU is that of both.
func BenchmarkConnect(b *testing.B) {
	all := roamers(b, "a", "b")
	one, two := all["a"], all["b"]
	before := cpu(b)
	b.ResetTimer()
	for range b.N {
		one.Connect("b", "")
		_, _ = said(b, one, "+b"), said(b, two, "+a")
		one.Disconnect("b")
		_ = said(b, two, "-a")
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "µs-CPU/connection")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIdleConnections connects 50 nodes of one process with ten others each, and measures the memory of a connection,
// both its ends, after it has carried one message each way.
func BenchmarkIdleConnections(b *testing.B) {
	for range b.N {
		const nodes, each = 50, 10
		ca := authority(b)
		var all []*node
		for i := range nodes {
			all = append(all, guest(b, ca, fmt.Sprint("n", i), mtls.Config{Keepalive: time.Minute}))
			_ = open(b, all[i])
		}
		heap, stack, goroutines := memory()
		for i, n := range all {
			for j := range each / 2 {
				other := all[(i+j+1)%nodes]
				n.Connect(other.Self(), other.Addr().String())
				_ = said(b, n, "+"+other.Self())
			}
		}
		moreHeap, moreStack, more := memory()
		const count = nodes * each / 2
		b.ReportMetric(float64(moreHeap-heap)/count/1000, "heap-KB/connection")
		b.ReportMetric(float64(moreStack-stack)/count/1000, "stack-KB/connection")
		b.ReportMetric(float64(more-goroutines)/count, "goroutines/connection")
		for _, n := range all {
			n.stop()
		}
	}
}

func memory() (heap, stack uint64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse, runtime.NumGoroutine()
}
