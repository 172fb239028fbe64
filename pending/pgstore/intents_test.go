package pgstore_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/conchhq/conch/pending/pgstore"
)

// IDs grow with time, so that rows stored together are neighbours in the index.
func TestIDsGrowWithTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	first, twin, later := pgstore.NewID(now), pgstore.NewID(now), pgstore.NewID(now.Add(time.Millisecond))
	if first == twin {
		t.Errorf("two IDs of the same millisecond are equal: %x", first)
	}
	if bytes.Compare(first[:], later[:]) >= 0 || bytes.Compare(twin[:], later[:]) >= 0 {
		t.Errorf("%x and %x do not sort before %x, the ID of a millisecond later", first, twin, later)
	}
	if version, variant := first[6]>>4, first[8]>>6; version != 7 || variant != 2 {
		t.Errorf("%x has version %d and variant %b, want 7 and 10", first, version, variant)
	}
}
