// Package zone says when a schedule that is written in wall-clock time is due.
//
// A schedule is five fields as in a crontab (minute, hour, day of the month, month, day of the week), or six with the
// seconds before them, or one of the words @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually, or
// "@every" with a duration. Days of the month may be L (the last), L-3, 15W (the working day nearest to the 15th) and
// LW; days of the week FRI#3 (the third Friday) and 5L or FRI#L (the last). Where both day fields are set, a day that
// either of them names is meant, as in cron.
//
// # Changes of clocks
//
// A schedule that names hours is due once for each wall-clock time. One that the clocks skip is due at the jump, and
// several that one jump skips are due once; one that comes twice is due the first time. A schedule whose hour field is *
// goes by elapsed time: it is due each time the clock reads one of its times, and never at one that is skipped.
//
//	clocks go      0 2 * * *                    */30 * * * *
//	02:00 → 03:00  once, at 03:00               01:30, 03:00: half an hour apart
//	03:00 → 02:00  once, at the first 02:00     02:00, 02:30, 02:00, 02:30
//
// A library of others is asked only for the calendar, in UTC; what the clocks of a zone do is decided here, from the
// zone data of this machine. "@every" counts elapsed time from the instant at which the schedule was made.
package zone
