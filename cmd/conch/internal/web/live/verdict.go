package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// Source is the state of the database, as this process has seen it.
type Source struct {
	Database string    `json:"database"` // up, away; none: the node uses none; unknown: it was not asked yet
	Since    time.Time `json:"since"`
	ForMS    int64     `json:"for_ms"` // since then, when it was told
	Why      string    `json:"why,omitempty"`
}

// What Source.Database says.
const (
	Up      = "up"
	Away    = "away"
	Absent  = "none"
	Unknown = "unknown"
)

// Verdict is the first line of a page: how all scopes stand, in a word and in a sentence.
type Verdict struct {
	State string `json:"state"` // well, trouble, unknown, empty
	Text  string `json:"text"`
}

// Counts is how many rows there are, and how many of each state.
type Counts struct {
	Total    int `json:"total"`
	Nobody   int `json:"nobody"`
	Late     int `json:"late"`
	Fails    int `json:"fails"`
	Holding  int `json:"holding"`
	Released int `json:"released"`
	Led      int `json:"led"`
}

// Count counts rows.
func Count(rows []Row) (c Counts) {
	c.Total = len(rows)
	of := map[State]*int{Nobody: &c.Nobody, Late: &c.Late, Fails: &c.Fails, Holding: &c.Holding, Released: &c.Released, Led: &c.Led}
	for _, r := range rows {
		*of[r.State]++
	}
	return c
}

// Judge says how things stand. While the database is away nothing is known.
func Judge(c Counts, from Source) Verdict {
	if from.Database == Away {
		return Verdict{"unknown", "Not known: the database has not answered for " + Words(time.Duration(from.ForMS)*time.Millisecond)}
	}
	if from.Database == Unknown {
		return Verdict{"unknown", "Not known: the database was not asked yet"}
	}
	all := Grouped(c.Total)
	switch {
	case c.Total == 0:
		return Verdict{"empty", "There is no scope yet"}
	case c.Nobody > 0:
		return Verdict{"trouble", fmt.Sprintf("%s of %s %s no leader", Grouped(c.Nobody), all, either(c.Total, c.Nobody, "scope has", "scopes has", "scopes have"))}
	case c.Late > 0:
		return Verdict{"trouble", fmt.Sprintf("The leader of %s of %s %s sends no heartbeats", Grouped(c.Late), all, either(c.Total, 1, "scope", "scopes", ""))}
	case c.Fails > 0:
		return Verdict{"trouble", fmt.Sprintf("The role of %s of %s %s has failed in the last ten minutes", Grouped(c.Fails), all, either(c.Total, 1, "scope", "scopes", ""))}
	case c.Released == c.Total:
		return Verdict{"well", fmt.Sprintf("%s %s given up, and nobody wants to lead", all, either(c.Total, c.Total, "scope is", "scope is", "scopes are"))}
	}
	return Verdict{"well", led(c) + waits(c.Holding)}
}

func led(c Counts) string {
	switch led := c.Total - c.Released; {
	case c.Released > 0:
		return fmt.Sprintf("%s of %s scopes %s led, %s given up", Grouped(led), Grouped(c.Total), either(2, led, "", "is", "are"), Grouped(c.Released))
	case c.Total == 1:
		return "The one scope is led"
	}
	return fmt.Sprintf("All %s scopes are led", Grouped(c.Total))
}

// waits says how many leaders may not act yet.
func waits(holding int) string {
	if holding == 0 {
		return ""
	}
	return fmt.Sprintf("; %s %s until no predecessor can act", Grouped(holding), either(2, holding, "", "leader waits", "leaders wait"))
}

// either picks the word for one of one, one of several, and several.
func either(total, some int, one, oneOfMany, many string) string {
	switch {
	case total == 1:
		return one
	case some == 1:
		return oneOfMany
	}
	return many
}

// Grouped writes a number with commas between its thousands.
func Grouped(n int) string {
	digits := fmt.Sprint(n)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}

// Words writes a duration for people: the two largest units.
func Words(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// LastChange finds the newest beginning of a term among events, oldest first, and who led before, if that is among them.
func LastChange(events []pgops.Event) (last pgops.Event, from string, is bool) {
	for _, e := range slices.Backward(events) {
		switch {
		case !is && e.Event == "acquired":
			last, is = e, true
		case is && e.Scope == last.Scope && e.Epoch < last.Epoch:
			return last, e.Holder, true
		}
	}
	return last, "", is
}
