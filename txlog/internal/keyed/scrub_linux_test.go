package keyed_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
)

// BenchmarkScrubbedLog is a copy of 450,000 keys that takes goals over, with a scrub and a snapshot among them: how long the
// longest entry keeps the others waiting, beside a mean one. It counts the time of the processor, which other programs do not change.
func BenchmarkScrubbedLog(b *testing.B) {
	const keys, every = 450_000, 5000
	c := txlog.NewCopy(txlog.Genesis{Namespace: "bench", Machine: kv.Machine, Members: []txlog.Member{{Name: "a", Store: 1}}}.With(), func() txlog.State { return full(b, keys) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			b.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	var took []time.Duration
	entry := func(e txlog.Entry) {
		e.Term, e.Leader = 1, "a"
		began := now()
		if _, err := c.Next(e); err != nil {
			b.Fatal(err)
		}
		if e.Kind == txlog.Scrubbed {
			c.Take()
		}
		c.Taken()
		took = append(took, now()-began)
	}
	entry(txlog.Entry{Kind: txlog.Opening})
	took = nil // that one has hashed what was put there
	n := 0
	for b.Loop() {
		entry(txlog.Entry{Kind: txlog.Scrubbed})
		for range every {
			n++
			goal := fmt.Appendf(nil, `{"op":"put","key":"allow/%014d","value":"%098d"}`, n*7919%keys, n)
			o := c.Execute(goal)
			entry(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint(n), Goal: goal, Result: o.Result, Diff: o.Diff})
		}
	}
	all := time.Duration(0)
	for _, t := range took {
		all += t
	}
	slices.Sort(took)
	mean := all / time.Duration(len(took))
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-longest")
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "µs-median")
	b.ReportMetric(float64(mean.Nanoseconds())/1000, "µs-mean")
	b.ReportMetric(float64(took[len(took)-1])/float64(mean), "longest/mean")
}
