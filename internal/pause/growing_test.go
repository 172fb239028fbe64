package pause_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

func TestGrowing(t *testing.T) {
	t.Parallel()
	g := pause.Growing{First: time.Second, Most: 5 * time.Second}
	var got []time.Duration
	for _, ran := range []time.Duration{0, time.Second, 10 * time.Second, 0, 0, 11 * time.Second, 0} {
		got = append(got, g.After(ran)/time.Second)
	}
	g.Reset()
	got = append(got, g.Next()/time.Second, g.Next()/time.Second)
	if want := []time.Duration{1, 2, 4, 5, 5, 1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("pauses of %d seconds, want %d", got, want)
	}
}

func TestDoubled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first time.Duration
		times int
		most  time.Duration
		want  time.Duration
	}{
		{3, -1, 100, 3}, {3, 0, 100, 3}, {3, 1, 100, 6}, {3, 5, 100, 96}, {3, 6, 100, 100}, {3, 1 << 40, 100, 100},
		{300, 0, 100, 100}, {time.Second, 1000, time.Hour, time.Hour},
	} {
		if got := pause.Doubled(c.first, c.times, c.most); got != c.want {
			t.Errorf("%v doubled %d times and at most %v is %v, want %v", c.first, c.times, c.most, got, c.want)
		}
	}
}
