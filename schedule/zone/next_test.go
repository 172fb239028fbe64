package zone_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule/zone"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	t.Fatalf("%q is no time", text)
	return time.Time{}
}

// times lists what is due after an instant.
func times(s zone.Schedule, after time.Time, most int) (all []zone.Occurrence) {
	for len(all) < most {
		o, is := s.Next(after)
		if !is {
			break
		}
		all, after = append(all, o), o.At
	}
	return all
}

// F12: schedules of every kind, and those that meet a change of clocks of every kind. What is due was found by reading a clock each minute, in
// another language.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, k := range table {
		for _, c := range k.cases {
			t.Run(fmt.Sprint(k.kind, ": ", c.text, " ", c.zone), func(t *testing.T) {
				t.Parallel()
				s, err := zone.Parse(c.text, c.zone, time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Fields(c.due)
				got := times(s, at(t, c.after), len(want))
				for i, w := range want {
					if i >= len(got) || !got[i].At.Equal(at(t, w)) {
						t.Fatalf("after %s: got %v, want %s", c.after, got, c.due)
					}
				}
			})
		}
	}
}

// clocks are of zones whose clocks change by an hour, less and more, at midnight and at noon of UTC, or whose zone has moved.
var clocks = []string{
	"America/New_York", "America/Sao_Paulo", "America/St_Johns", "America/Havana", "America/Santiago", "America/Asuncion", "America/Caracas",
	"Europe/Berlin", "Europe/London", "Europe/Moscow", "Europe/Istanbul", "Africa/Cairo", "Africa/Casablanca", "Asia/Tehran", "Asia/Pyongyang",
	"Asia/Gaza", "Australia/Eucla", "Asia/Amman", "Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
	"Atlantic/Azores",
}

// Around the changes of 44 years Next says what a walk over every minute finds.
func TestEveryMinute(t *testing.T) {
	t.Parallel()
	for i, name := range clocks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(uint64(i), 7))
			changes, found := changesOf(place), 0
			random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			for _, change := range changes[:min(len(changes), 14)] {
				for range 12 {
					p := draw(random, change.In(place))
					found += p.compare(t, name, change)
				}
			}
			t.Logf("%d times of %d changes", found, min(len(changes), 14))
			if found == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

// changesOf lists the changes of a zone's clocks from 1994 to 2037.
func changesOf(place *time.Location) (all []time.Time) {
	for now := time.Date(1994, 1, 1, 0, 0, 0, 0, place); ; {
		_, end := now.ZoneBounds()
		if end.IsZero() || end.Year() > 2037 {
			return all
		}
		now, all = end, append(all, end)
	}
}

// plan is a schedule as sets of what its fields name; a nil set is *.
type plan struct{ minutes, hours, days, months, weekdays []int }

// draw draws a schedule that is likely to meet a change.
func draw(random *rand.Rand, change time.Time) (p plan) {
	some := func(count, near, spread, least, most int) (all []int) {
		for range count {
			all = append(all, min(max(near+random.IntN(2*spread+1)-spread, least), most))
		}
		return all
	}
	p.minutes = some(1+random.IntN(4), 30, 30, 0, 59)
	if random.IntN(3) > 0 {
		p.hours = some(1+random.IntN(3), change.Hour(), 2, 0, 23)
	}
	if random.IntN(6) == 0 {
		p.days = some(2, change.Day(), 1, 1, 28)
	}
	if random.IntN(6) == 0 {
		p.weekdays = some(2, int(change.Weekday()), 1, 0, 6)
	}
	if random.IntN(6) == 0 {
		p.months = some(1, int(change.Month()), 1, 1, 12)
	}
	return p
}

func (p plan) String() string {
	var fields []string
	for _, set := range [][]int{p.minutes, p.hours, p.days, p.months, p.weekdays} {
		text := strings.ReplaceAll(strings.Trim(fmt.Sprint(set), "[]"), " ", ",")
		if set == nil {
			text = "*"
		}
		fields = append(fields, text)
	}
	return strings.Join(fields, " ")
}

func has(set []int, n int) bool { return set == nil || slices.Contains(set, n) }

// names reports whether the fields name what a clock reads.
func (p plan) names(wall time.Time) bool {
	day := has(p.days, wall.Day()) && has(p.weekdays, int(wall.Weekday()))
	if p.days != nil && p.weekdays != nil {
		day = has(p.days, wall.Day()) || has(p.weekdays, int(wall.Weekday()))
	}
	return day && has(p.minutes, wall.Minute()) && has(p.hours, wall.Hour()) && has(p.months, int(wall.Month()))
}

// around is how long before and after a change is looked at.
const around = 36 * time.Hour

// compare walks over each minute around a change, and returns how many times it has found.
func (p plan) compare(t *testing.T, name string, change time.Time) int {
	t.Helper()
	s, err := zone.Parse(p.String(), name, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var want []time.Time
	clock := func(at time.Time) time.Time {
		l := at.In(change.Location())
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	from := change.Add(-around).Truncate(time.Minute)
	high := time.Time{}
	for now := from.Add(-around); !now.After(from); now = now.Add(time.Minute) {
		if wall := clock(now); wall.After(high) {
			high = wall
		}
	}
	for now := from.Add(time.Minute); !now.After(change.Add(around)); now = now.Add(time.Minute) {
		wall := clock(now)
		due := p.hours == nil && p.names(wall)
		for ; p.hours != nil && wall.After(high); high = high.Add(time.Minute) { // more than one minute where the clock jumps
			due = due || p.names(high.Add(time.Minute))
		}
		if due {
			want = append(want, now.UTC())
		}
	}
	for i, got := range times(s, from, len(want)+1) {
		switch {
		case i == len(want) && got.At.After(change.Add(around)):
		case i == len(want) || !got.At.Equal(want[i]):
			t.Fatalf("%q in %s: time %d after %s is %s, want one of %v", p, name, i, from, got.At, want[max(i-1, 0):min(i+2, len(want))])
		}
	}
	return len(want)
}

// A time that is named goes forward on the clock and in truth, so that two nodes whose zone data differ do not run it twice.
func TestTheClockGrows(t *testing.T) {
	t.Parallel()
	s, err := zone.Parse("*/10 1-3 * * *", "Europe/Berlin", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var before zone.Occurrence
	for _, o := range times(s, at(t, "2026-10-24T20:00"), 40) {
		if !o.At.After(before.At) || !o.Wall.After(before.Wall) {
			t.Errorf("%v comes after %v", o, before)
		}
		before = o
	}
	each, err := zone.Parse("*/10 * * * *", "Europe/Berlin", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := each.Next(before.At); !o.Wall.IsZero() {
		t.Errorf("a clock may read %v twice", o.Wall)
	}
}
