package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// ZoneFault is a zone in which the data of this machine and of the database's server differ: one of them is out of date.
type ZoneFault struct {
	Zone        string
	At          time.Time     // the first difference that was found; zero: one of them does not know the zone
	Here, There time.Duration // what the clocks are ahead of UTC then
	Unknown     string        // to whom: "here", "there" or ""
}

// Zone data are compared for a year and more: at each change that this machine knows of, and each week, since the server may know of another.
const (
	zoneHorizon = 400 * 24 * time.Hour
	zoneStep    = 7 * 24 * time.Hour
)

// Zones compares what this machine and the database's server know of zones. A cron that is led by machines whose data differ keeps its times
// apart, since its cursor never goes back on the wall clock, but one of them runs it at a wrong hour.
func (s *Store) Zones(ctx context.Context, names []string) ([]ZoneFault, error) {
	places := map[string]*time.Location{}
	for _, name := range names {
		place, err := time.LoadLocation(name)
		if err != nil {
			place = nil
		}
		places[name] = place
	}
	return s.compareZones(ctx, places)
}

// compareZones compares the places that this machine has under some names; nil: it has none.
func (s *Store) compareZones(ctx context.Context, places map[string]*time.Location) (faults []ZoneFault, err error) {
	var now time.Time
	var known []string
	all := make([]string, 0, len(places))
	for name := range places {
		all = append(all, name)
	}
	err = s.pools.Readers.QueryRow(ctx, `SELECT now(), array(SELECT z.name FROM pg_catalog.pg_timezone_names z WHERE z.name = ANY ($1) ORDER BY z.name COLLATE "C")`, all).Scan(&now, &known)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	var ask []string
	var at []time.Time
	for _, name := range known {
		there[name] = true
		for _, t := range instants(places[name], now) {
			ask, at = append(ask, name), append(at, t)
		}
	}
	for name, place := range places {
		switch {
		case place == nil:
			faults = append(faults, ZoneFault{Zone: name, Unknown: "here"})
		case !there[name]:
			faults = append(faults, ZoneFault{Zone: name, Unknown: "there"})
		}
	}
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT z.name, z.at, extract(epoch FROM (z.at AT TIME ZONE z.name) - (z.at AT TIME ZONE 'UTC'))::float8
		  FROM unnest($1::text[], $2::timestamptz[]) AS z(name, at) ORDER BY z.name COLLATE "C", z.at`, ask, at)
	if err != nil {
		return nil, err
	}
	var f ZoneFault
	var ahead float64
	found := ""
	_, err = pgx.ForEachRow(rows, []any{&f.Zone, &f.At, &ahead}, func() error {
		_, offset := f.At.In(places[f.Zone]).Zone()
		f.Here, f.There = time.Duration(offset)*time.Second, span(ahead)
		if f.Here != f.There && f.Zone != found {
			found = f.Zone
			faults = append(faults, ZoneFault{Zone: f.Zone, At: f.At.UTC(), Here: f.Here, There: f.There})
		}
		return nil
	})
	slices.SortFunc(faults, func(a, b ZoneFault) int { return cmp.Compare(a.Zone, b.Zone) })
	return faults, err
}

// instants are those at which a zone is compared.
func instants(place *time.Location, now time.Time) (all []time.Time) {
	if place == nil {
		return nil
	}
	until := now.Add(zoneHorizon)
	for t := now; t.Before(until); t = t.Add(zoneStep) {
		all = append(all, t)
	}
	for _, change := now.In(place).ZoneBounds(); !change.IsZero() && change.Before(until); _, change = change.ZoneBounds() {
		all = append(all, change.Add(-time.Second), change)
	}
	return all
}
