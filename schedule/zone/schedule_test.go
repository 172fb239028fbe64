package zone_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule/zone"
)

// "@every" counts from the instant at which the schedule was made, in elapsed time.
func TestEvery(t *testing.T) {
	t.Parallel()
	since := at(t, "2026-03-08T00:00:07")
	s, err := zone.Parse("@every 90m", "America/New_York", since)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[string]string{
		"2026-03-01T00:00": "2026-03-08T01:30:07", "2026-03-08T00:00:07": "2026-03-08T01:30:07",
		"2026-03-08T01:30:07": "2026-03-08T03:00:07", "2026-03-08T07:30:07": "2026-03-08T09:00:07",
	} {
		if o, is := s.Next(at(t, after)); !is || !o.At.Equal(at(t, want)) || !o.Wall.IsZero() {
			t.Errorf("after %s: %v, want %s", after, o, want)
		}
	}
}

// A schedule says of itself when both of its day fields are set.
func TestEitherDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0 0 13 * 5": true, "0 0 */2 * 1": true, "0 0 L * MON": true, "0 0 1 * FRI#1": true,
		"0 0 13 * *": false, "0 0 * * 5": false, "0 0 L * ?": false, "@weekly": false, "@every 1h": false,
	} {
		s, err := zone.Parse(text, "UTC", time.Time{})
		if err != nil {
			t.Error(err)
		} else if s.EitherDay() != want {
			t.Errorf("%q: either day %v, want %v", text, s.EitherDay(), want)
		}
	}
}

// Bad input says what is wrong with it.
func TestBadSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"", "UTC", "empty"},
		{"* * * *", "UTC", "expected 5 to 6 fields"},
		{"* * * * * * *", "UTC", "expected 5 to 6 fields"},
		{"61 * * * *", "UTC", "above maximum"},
		{"*/70 * * * *", "UTC", "step"},
		{"0 0 * * MON#6", "UTC", "occurrence"},
		{"0 0 30 2 *", "UTC", "never due"},
		{"0 0 31 4,6 *", "UTC", "never due"},
		{"@reboot", "UTC", "no common start"},
		{"@sometimes", "UTC", "@sometimes"},
		{"@every 0s", "UTC", "1s or more"},
		{"@every -5m", "UTC", "1s or more"},
		{"@every soon", "UTC", "1s or more"},
		{"@every 100ms", "UTC", "1s or more"},
		{"0 0 * * *", "Mars/Olympus", "Mars/Olympus"},
		{"0 0 * * *", "", "want a name"},
		{"0 0 * * *", "Local", "want a name"},
		{"CRON_TZ=Europe/Berlin 0 0 * * *", "UTC", "say it once"},
		{"TZ=UTC", "UTC", "empty"},
		{"H * * * *", "UTC", "hash"},
	} {
		if _, err := zone.Parse(c[0], c[1], time.Time{}); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q in %q: %v, want an error that says %q", c[0], c[1], err, c[2])
		}
	}
}

// A zone may stand in the schedule, if it is the same.
func TestAZoneInTheSchedule(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"CRON_TZ=Europe/Berlin 0 9 * * *", "TZ=Europe/Berlin  0 9 * * *"} {
		s, err := zone.Parse(text, "Europe/Berlin", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := s.Next(at(t, "2026-07-01T00:00")); !o.At.Equal(at(t, "2026-07-01T07:00")) {
			t.Errorf("%q is due at %v", text, o.At)
		}
	}
}

// What is never due says so, and costs little.
func TestTheZeroScheduleIsNeverDue(t *testing.T) {
	t.Parallel()
	if o, is := (zone.Schedule{}).Next(time.Time{}); is {
		t.Errorf("it is due at %v", o)
	}
}
