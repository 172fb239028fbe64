package pgstore_test

import (
	"testing"
	"time"
)

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	place, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// A machine whose zone data differ from the server's is told from when on: also where only one of them knows of a change to come.
func TestZoneDataAreCompared(t *testing.T) {
	t.Parallel()
	s, _ := opened(t)
	if faults, err := s.Zones(t.Context(), []string{"Europe/Berlin", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Cairo"}); err != nil || len(faults) != 0 {
		t.Errorf("with the same data: %+v, %v", faults, err)
	}
	berlin, algiers := place(t, "Europe/Berlin"), place(t, "Africa/Algiers") // in winter they are the same
	for name, c := range map[string]struct {
		zone        string
		here, other *time.Location
	}{
		"only this machine knows of summer": {"Africa/Algiers", berlin, algiers},
		"only the server knows of summer":   {"Europe/Berlin", algiers, berlin},
	} {
		faults, err := s.CompareZones(t.Context(), map[string]*time.Location{c.zone: c.here})
		if err != nil || len(faults) != 1 || faults[0].Zone != c.zone || faults[0].Unknown != "" {
			t.Errorf("%s: %+v, %v", name, faults, err)
			continue
		}
		f := faults[0]
		_, here := f.At.In(c.here).Zone()
		_, there := f.At.In(c.other).Zone()
		if f.Here != time.Duration(here)*time.Second || f.There != time.Duration(there)*time.Second || here == there || time.Until(f.At) > 366*24*time.Hour {
			t.Errorf("%s: %+v", name, f)
		}
		if _, before := f.At.Add(-8 * 24 * time.Hour).In(c.here).Zone(); f.At.After(time.Now()) && time.Duration(before)*time.Second == f.Here && c.here == berlin {
			t.Errorf("%s: %s is not the change", name, f.At)
		}
	}
	faults, err := s.CompareZones(t.Context(), map[string]*time.Location{"Europe/Berlin": nil, "Mars/Olympus": berlin})
	if err != nil || len(faults) != 2 {
		t.Fatalf("unknown zones: %+v, %v", faults, err)
	}
	for _, f := range faults {
		if want := map[string]string{"Europe/Berlin": "here", "Mars/Olympus": "there"}[f.Zone]; f.Unknown != want {
			t.Errorf("%s is unknown %q, want %q", f.Zone, f.Unknown, want)
		}
	}
}
