package zone

import "time"

// Next returns the first time after an instant, or false if there is none.
func (s Schedule) Next(after time.Time) (Occurrence, bool) {
	switch {
	case s.every > 0:
		passed := max(after.Sub(s.since), 0)
		return Occurrence{At: s.since.Add(passed - passed%s.every + s.every)}, true
	case s.calendar == nil:
		return Occurrence{}, false
	case s.eachHour:
		return s.nextReading(after)
	}
	wall := s.calendar.Next(furthest(after.In(s.place)))
	if wall.IsZero() {
		return Occurrence{}, false
	}
	return Occurrence{At: reached(wall, s.place), Wall: wall}, true
}

// shift is more than any zone is from UTC, and than any change of clocks.
const shift = 26 * time.Hour

// read is what a clock of the zone reads, as if it were UTC.
func read(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// furthest is the latest time that a clock has read up to an instant. It is later than what it reads now if it was set back just before.
func furthest(t time.Time) time.Time {
	most := read(t)
	for at := t; ; {
		start, _ := at.ZoneBounds()
		if start.IsZero() || t.Sub(start) > shift {
			return most
		}
		at = start.Add(-time.Second)
		if before := read(at); before.After(most) {
			most = before
		}
	}
}

// reached is the first instant at which a clock reads a time, or has just skipped it.
func reached(wall time.Time, place *time.Location) time.Time {
	for t := wall.Add(-shift).In(place); ; {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if at.Before(t) {
			at = t.UTC()
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end
	}
}

// nextReading returns the first instant after another at which a clock reads one of the times.
func (s Schedule) nextReading(after time.Time) (Occurrence, bool) {
	from := after.In(s.place)
	for past := read(from); ; {
		_, offset := from.Zone()
		_, end := from.ZoneBounds()
		wall := s.calendar.Next(past)
		if wall.IsZero() {
			return Occurrence{}, false
		}
		at := wall.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || at.Before(end) {
			return Occurrence{At: at}, true
		}
		from, past = end, read(end).Add(-time.Second)
	}
}
