package core

import (
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// compacting is a store whose first records are dropped as soon as somebody reads one: a snapshot is stored while the loop goes on.
type compacting struct{ store.Store }

func (c compacting) Records(from uint64, most int) ([]txlog.Record, error) {
	if _, err := c.Compact(c.View().Kept[0].At.Index); err != nil {
		return nil, err
	}
	return c.Store.Records(from, most)
}

// What is dropped while it is compared, or while the store is read anew, is below the floor by then: it is no reason to end.
func TestASnapshotIsStoredMeanwhile(t *testing.T) {
	t.Parallel()
	_, c, records, s := fortyRecords(t)
	if err := s.Write(store.Step{Records: records}); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(c.Position(), c.Snapshot(), store.Step{}); err != nil {
		t.Fatal(err)
	}
	if err := majority.NewPromises(compacting{s}).Persist(majority.Persist{Sync: true, Records: records[9:12]}); err != nil {
		t.Errorf("records are compared that a snapshot replaces meanwhile: %v", err)
	}
	before := store.View{Kept: []store.Kept{{At: s.Genesis().Start(), Size: 10}}}
	if all, err := loadOffers(s, before); err != nil || len(all) > 0 {
		t.Errorf("offers are made of a snapshot that is dropped meanwhile: %+v, %v", all, err)
	}
}
