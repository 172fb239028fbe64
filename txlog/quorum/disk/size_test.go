//go:build unix

package disk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// A log that is compacted does not grow for ever: 50,000 records, of which 10,000 are kept, with their slots and a snapshot of 1
// MB each 5,000.
func TestSize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(memory(t), "log")
	s := begin(t, path, storetest.Genesis(create(t, path)))
	c := storetest.Copy(s.Genesis())
	var sizes []int64
	for n := range 35_000 / 100 {
		records, err := storetest.Grow(c, 100, 100)
		must(err)
		step := store.Step{Records: records, Below: max(2, uint64(n)*100-100*min(uint64(n), 20))}
		for i, r := range records {
			step.Slots = append(step.Slots, store.Slot{Index: uint64(2 + n*100 + i), Record: r})
		}
		must(s.Write(step))
		if n%50 != 49 {
			continue
		}
		must(s.Keep(c.Position(), bytes.Repeat([]byte{byte(n)}, 1<<20), store.Step{}))
		for more := true; more; {
			more, err = s.Compact(c.Position().Index - min(c.Position().Index, 10_000))
			must(err)
		}
		info, err := os.Stat(path)
		must(err)
		sizes = append(sizes, info.Size())
	}
	t.Log(sizes)
	if early, late := sizes[3], sizes[len(sizes)-1]; late > early*5/4 {
		t.Errorf("the file has %d bytes after 20,000 records and %d after 35,000, with as many kept", early, late)
	}
	must(s.Close())
	again := open(t, path)
	if view := again.View(); view.Last != c.Position() || view.Last.Index-view.Floor.Index != 10_000 {
		t.Errorf("%+v", view)
	}
}
