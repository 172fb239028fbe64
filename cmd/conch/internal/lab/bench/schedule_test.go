//go:build unix

package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgjobs"
)

// A time is committed when its queue is heard of after it was decided, whatever was heard before; and one without a row between two that have one is missed.
func TestLateness(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	runs := []pgjobs.Run{
		{Queue: "a", At: at(0), Decided: at(1)}, {Queue: "b", At: at(500), Decided: at(501)}, // before the first kill
		{Queue: "a", At: at(1000), Decided: at(1040)}, // the leader was dead
		{Queue: "b", At: at(1500), Decided: at(1501)},
		{Queue: "a", At: at(3000), Decided: at(3002)}, // and nothing at 2000
		{Queue: "b", At: at(3500), Decided: at(3501)}, // after the last kill
	}
	heard := map[string][]time.Time{"a": {at(2), at(1042), at(3005)}, "b": {at(503), at(1504), at(3504)}}
	all, after, missed := lateness(runs, heard, []time.Time{at(990), at(3100)})
	if want := []time.Duration{42e6, 4e6, 5e6}; !slices.Equal(all, want) || missed != 1 {
		t.Errorf("%v after they were due, and %d missed; want %v, and one", all, missed, want)
	}
	if want := []time.Duration{52e6}; !slices.Equal(after, want) {
		t.Errorf("%v after the kills, want %v", after, want)
	}
}
