package web

import (
	"context"
	"errors"
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
	live    bool  // it has rows and heartbeats: it is a page's
	resumes bool  // its client was connected before,
	after   place // and has come so far

	events *listener
	missed []pgops.Event
	gap    bool
	told   *noticeReader
	since  []posted
	hole   bool
	at     place // where it begins
	later  bool  // the history cannot be followed while the database is away
	viewer *viewer
	unseen bool // there may be rows that its client lacks
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
	if t.history || t.live {
		same := t.after.live && t.after.run == s.cfg.Board.run
		var known bool
		t.viewer, known = s.shared.join(t.live, t.live && same, t.after.rows)
		t.unseen = t.live && t.resumes && (!same || !known)
		leaves = append(leaves, func() { s.shared.leave(t.viewer) })
	}
	if t.history {
		if err = s.attachHistory(r.Context(), t); err != nil {
			return nil, err
		}
		if !t.later {
			leaves = append(leaves, func() { s.feed.leave(t.events) })
		}
	}
	return detach, nil
}

// attachHistory joins the history. The stream of a page begins without, if the database is away: it says so.
func (s *Site) attachHistory(ctx context.Context, t *tail) (err error) {
	if t.live {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, sharedWait)
		defer cancel()
	}
	resumes := t.resumes && (t.after.history > 0 || t.after.run != "")
	t.events, t.missed, t.gap, t.at.history, err = s.feed.join(ctx, t.scope, resumes, t.after.history)
	if err != nil && t.live && !errors.As(err, new(*Problem)) {
		t.later, err = true, nil
	}
	return err
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
	if t.live {
		out.at.run, out.at.live, out.at.rows = s.cfg.Board.run, true, s.shared.place(t.viewer)
	}
	out.text(fmt.Sprintf("retry: %d\n\n", retryHint.Milliseconds()))
	kinds := s.cfg.Board.all(t.choice)
	if t.hole || t.notices && len(kinds) > 0 || t.live && (t.resumes || !t.later) { // a client that gets no event before the stream breaks resumes from here
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
	if t.unseen {
		out.gap(gapOf{Of: kindRows, Why: "the connection was to another process, or it was away too long"})
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
