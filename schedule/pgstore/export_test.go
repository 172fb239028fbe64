package pgstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/internal/core"
)

// AsJSON is a definition as it is stored.
func AsJSON(d core.Definition) ([]byte, error) { return json.Marshal(asRow(d)) }

// OpenWide is Open for connections that behave as those behind a pooler do.
func OpenWide(ctx context.Context, at Connection, most int) (*Store, error) {
	s, err := Open(ctx, at, most)
	if err == nil {
		err = pgtest.Widen(ctx, s.pools)
	}
	return s, err
}

// CompareZones is Zones for a machine with other data.
func (s *Store) CompareZones(ctx context.Context, places map[string]*time.Location) ([]ZoneFault, error) {
	return s.compareZones(ctx, places)
}

// At is the database of a store.
func (s *Store) At() Connection { return s.at }

// Rehearse is what [Store.KeepWarm] does now and then.
func (s *Store) Rehearse(ctx context.Context) error { return s.pools.Rehearse(ctx, warm, play) }
