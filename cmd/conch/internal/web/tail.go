package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/conchhq/conch/election/pgops"
)

// tail is what one stream sends.
type tail struct {
	scope   string
	choice  choice
	check   func() (choice, error)
	history bool  // it has events of the history
	notices bool  // it has notices
	resumes bool  // its client was connected before,
	after   place // and has come so far

	events *listener
	missed []pgops.Event
	gap    bool
	told   *noticeReader
	since  []posted
	hole   bool
	at     place // where it begins
}

// attach joins what a tail needs, so that it misses nothing from now on.
func (s *Site) attach(r *http.Request, t *tail) (leave func(), err error) {
	var leaves []func()
	detach := func() {
		for _, one := range leaves {
			one()
		}
	}
	defer func() {
		if err != nil {
			detach()
		}
	}()
	if t.notices {
		if t.choice, err = t.check(); err != nil {
			return nil, err
		}
		t.told, t.since, t.hole, t.at = s.cfg.Board.join(t.choice, t.resumes, t.after)
		leaves = append(leaves, func() { s.cfg.Board.leave(t.told) })
		if _, err = t.check(); err != nil { // it may have ended in between, and the reader not have heard of it
			return nil, err
		}
	}
	if t.history {
		resumes := t.resumes && (t.after.history > 0 || t.after.run != "")
		if t.events, t.missed, t.gap, t.at.history, err = s.feed.join(r.Context(), t.scope, resumes, t.after.history); err != nil {
			return nil, err
		}
		leaves = append(leaves, func() { s.feed.leave(t.events) })
	}
	return detach, nil
}

// begin writes what the client missed. It returns the ids of events that may be in the queue as well.
func (s *Site) begin(caller context.Context, out *stream, t *tail) (told map[int64]bool) {
	out.at = t.at
	if t.resumes { // until it has what it missed
		out.at.history = t.after.history
		if !t.hole && t.at.run != "" {
			out.at.notice = t.after.notice
		}
	}
	out.text(fmt.Sprintf("retry: %d\n\n", retryHint.Milliseconds()))
	kinds := s.cfg.Board.all(t.choice)
	if t.hole || t.notices && len(kinds) > 0 { // a client that gets no event before the stream breaks resumes from here
		out.text(fmt.Sprintf("id: %s\n\n", out.at))
	}
	if t.gap {
		out.gap(gapOf{})
	}
	if t.hole {
		for _, kind := range kinds {
			out.gap(gapOf{Of: kind, Why: "the connection was to another process, or it was away too long"})
		}
	}
	told = map[int64]bool{}
	for _, e := range t.missed {
		told[e.ID] = true
		out.event(e)
	}
	for _, n := range t.since {
		out.notice(caller, n, t.choice)
	}
	out.flush()
	return told
}
