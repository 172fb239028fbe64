package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// BenchmarkOpen is how long it takes to read and check a file of 100,000 records.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	s := begin(b, path, storetest.Genesis(create(b, path)))
	c := storetest.Copy(s.Genesis())
	for range 100 {
		records, err := storetest.Grow(c, 1000, 100)
		must(err)
		must(s.Write(store.Step{Records: records}))
	}
	must(s.Close())
	for b.Loop() {
		must(open(b, path).Close())
	}
}

// BenchmarkWrite is steps of 1, 16 and 64 records of 200 bytes, with their slots, beside bare syncs of as many bytes in the same
// folder.
func BenchmarkWrite(b *testing.B) {
	for _, batch := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) { writeBeside(b, batch) })
	}
}

func writeBeside(b *testing.B, batch int) {
	dir := b.TempDir()
	path := filepath.Join(dir, "log")
	s := begin(b, path, storetest.Genesis(create(b, path)))
	c := storetest.Copy(s.Genesis())
	bare, err := os.Create(filepath.Join(dir, "bare"))
	must(err)
	defer func() { _ = bare.Close() }()
	fill := make([]byte, 64<<20) // room that the file has already, as a log of the best kind has
	_, err = bare.Write(fill)
	must(err)
	must(bare.Sync())
	var ours, theirs time.Duration
	at := int64(0)
	next, n := uint64(2), 0
	for b.Loop() {
		records, err := storetest.Grow(c, batch, 200)
		must(err)
		began := time.Now()
		must(s.Write(stepOf(records, next)))
		ours += time.Since(began)
		next += uint64(batch)
		began = time.Now()
		for _, r := range records {
			_, err := bare.WriteAt(r.Raw(), at%(60<<20))
			must(err)
			at += int64(len(r.Raw()))
		}
		must(syscall.Fdatasync(int(bare.Fd())))
		theirs += time.Since(began)
		n++
	}
	b.ReportMetric(float64(n)/ours.Seconds(), "commits/s")
	b.ReportMetric(float64(n*batch)/ours.Seconds(), "records/s")
	b.ReportMetric(float64(n)/theirs.Seconds(), "fdatasync/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
}

// stepOf is what a member stores: what is promised, and what was committed of it.
func stepOf(records []txlog.Record, next uint64) store.Step {
	step := store.Step{Records: records, Values: map[string][]byte{"quorum/hard": make([]byte, 12), "quorum/mark": make([]byte, 300)}}
	for i, r := range records {
		step.Slots = append(step.Slots, store.Slot{Index: next + uint64(i), Record: r})
	}
	if next > 4000 {
		step.Below = next - 2000
	}
	return step
}
