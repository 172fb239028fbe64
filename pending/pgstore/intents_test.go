package pgstore_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/conchhq/conch/pending/pgstore"
)

// TestIDsGrowWithTime: rows that are stored together are together in the index.
func TestIDsGrowWithTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	first, twin, later := pgstore.NewID(now), pgstore.NewID(now), pgstore.NewID(now.Add(time.Millisecond))
	if first == twin {
		t.Errorf("two IDs of one millisecond are the same: %x", first)
	}
	if bytes.Compare(first[:], later[:]) >= 0 || bytes.Compare(twin[:], later[:]) >= 0 {
		t.Errorf("%x and %x do not sort before %x, which is a millisecond later", first, twin, later)
	}
	if version, variant := first[6]>>4, first[8]>>6; version != 7 || variant != 2 {
		t.Errorf("%x has version %d and variant %b, not 7 and 10", first, version, variant)
	}
}
