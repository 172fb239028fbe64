package zone

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	cron "github.com/netresearch/go-cron"

	"github.com/conchhq/conch/internal/pattern"
)

// Schedule says when something is due. The zero value never is.
type Schedule struct {
	calendar *cron.SpecSchedule
	place    *time.Location
	eachHour bool // it goes by elapsed time
	every    time.Duration
	since    time.Time // from which every counts
	either   bool
}

// Occurrence is one scheduled time.
type Occurrence struct {
	At time.Time // the instant, in UTC
	// Wall is what the clock should read then, as if it were UTC. It is zero where the clock may read the same twice.
	Wall time.Time
}

// longest is how far apart two times of a calendar are at most: of the 29th of February, if it has to be a certain day of the week, or
// a February with five Mondays.
const longest = 40

var parser = cron.MustNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor | cron.DowOrDom | cron.Extended).WithMaxSearchYears(longest)

var (
	errReboot  = errors.New("@reboot: several nodes have no common start; leave it to each one's own cron")
	errNever   = errors.New("this schedule is never due, since no month has such a day: correct the day or the month")
	lastOfWeek = pattern.Of(`(?i)\b([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)L(,|$)`)
)

// Parse reads a schedule. Its wall clock is that of a zone of the IANA database. Since is when it was made, from which
// "@every" counts. The error says what is wrong with the text, that the zone is not known, or that the schedule is never due.
func Parse(text, timezone string, since time.Time) (Schedule, error) {
	text = strings.TrimSpace(text)
	if own, rest, is := cutZone(text); is {
		if own != timezone {
			return Schedule{}, fmt.Errorf("the schedule %q is in the zone %q, and the time zone is %q: say it once", text, own, timezone)
		}
		text = rest
	}
	place, err := load(timezone)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{place: place, since: since.UTC()}
	if span, is := strings.CutPrefix(text, "@every"); is {
		if s.every, err = time.ParseDuration(strings.TrimSpace(span)); err != nil || s.every < time.Second || s.every%time.Millisecond != 0 {
			return Schedule{}, fmt.Errorf("%q: want @every and a duration of 1s or more, in whole milliseconds", text)
		}
		return s, nil
	}
	if s.calendar, err = parseCalendar(text); err != nil {
		return Schedule{}, fmt.Errorf("the schedule %q: %w", text, err)
	}
	const all = 1<<24 - 1
	s.eachHour = s.calendar.Hour&all == all
	s.either = isSet(s.calendar.Dom) && isSet(s.calendar.Dow)
	if _, is := s.Next(time.Unix(0, 0)); !is {
		return Schedule{}, fmt.Errorf("the schedule %q: %w", text, errNever)
	}
	return s, nil
}

// cutZone takes the zone off a schedule that names one itself.
func cutZone(text string) (zone, rest string, is bool) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if after, has := strings.CutPrefix(text, prefix); has {
			zone, rest, _ = strings.Cut(after, " ")
			return zone, strings.TrimSpace(rest), true
		}
	}
	return "", text, false
}

// load loads a zone. That of the machine has no name that means the same on another one.
func load(timezone string) (*time.Location, error) {
	if timezone == "" || timezone == "Local" {
		return nil, fmt.Errorf("the time zone %q: want a name such as UTC or Europe/Berlin", timezone)
	}
	if place, is := places.Load(timezone); is {
		return place.(*time.Location), nil //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	place, err := time.LoadLocation(timezone)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is not in this machine's zone data: want a name such as UTC or Europe/Berlin, and tzdata installed", timezone)
	}
	places.Store(timezone, place)
	return place, nil
}

// places are the zones that were loaded: thousands of crons share a few, and each takes a file.
var places sync.Map

func parseCalendar(text string) (*cron.SpecSchedule, error) {
	if text == "@reboot" {
		return nil, errReboot
	}
	if fields := strings.Fields(text); len(fields) > 1 {
		last := &fields[len(fields)-1]
		*last = lastOfWeek().ReplaceAllString(*last, "$1#L$2")
		text = strings.Join(fields, " ")
	}
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	calendar, is := parsed.(*cron.SpecSchedule)
	if !is {
		return nil, errNever
	}
	calendar.Location = time.UTC
	return calendar, nil
}

// isSet reports whether a day field is anything but *.
func isSet(field uint64) bool { return field>>63 == 0 }

// EitherDay reports whether both day fields are set: a day that either of them names is meant.
func (s Schedule) EitherDay() bool { return s.either }
