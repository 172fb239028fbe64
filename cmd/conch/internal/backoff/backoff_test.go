package backoff_test

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
)

func TestPauses(t *testing.T) {
	t.Parallel()
	p := backoff.Pauses{First: time.Second, Most: 5 * time.Second}
	var got []time.Duration
	for _, ran := range []time.Duration{0, time.Second, 10 * time.Second, 0, 0, 11 * time.Second, 0} {
		got = append(got, p.After(ran)/time.Second)
	}
	p.Reset()
	got = append(got, p.After(0)/time.Second)
	if want := []time.Duration{1, 2, 4, 5, 5, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("pauses of %d seconds, want %d", got, want)
	}
}
