package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// place is how far the client of an event stream has come: the id that its last event had in the stream.
type place struct {
	history int64  // the last event of the history
	run     string // of the process whose board has the notice; empty: it has told none
	notice  uint64 // the last one
	live    bool   // its stream tells of rows: run is set
	rows    uint64 // the version of the rows that it has
}

// String is the event's id in the history, or else the numbers of both with the run between them, and on the stream of a page the
// version of its rows besides.
func (p place) String() string {
	switch {
	case p.run == "":
		return strconv.FormatInt(p.history, 10)
	case p.live:
		return fmt.Sprintf("%d-%s-%d-%d", p.history, p.run, p.notice, p.rows)
	}
	return fmt.Sprintf("%d-%s-%d", p.history, p.run, p.notice)
}

// parsePlace is the reverse of String.
func parsePlace(text string) (p place, err error) {
	bad := Failf(http.StatusBadRequest, "Last-Event-ID = %q is no id of an event", text).Wrong("Last-Event-ID")
	history, rest, both := strings.Cut(text, "-")
	if p.history, err = strconv.ParseInt(history, 10, 64); err != nil || p.history < 0 {
		return p, bad
	}
	if !both {
		return p, nil
	}
	run, notice, _ := strings.Cut(rest, "-")
	notice, rows, live := strings.Cut(notice, "-")
	if p.live = live; live {
		if p.rows, err = strconv.ParseUint(rows, 10, 64); err != nil {
			return p, bad
		}
	}
	if p.notice, err = strconv.ParseUint(notice, 10, 64); err != nil || run == "" {
		return p, bad
	}
	p.run = run
	return p, nil
}
