package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/live"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/step"
)

const (
	eventStream    = "text/event-stream"
	retryHint      = 2 * time.Second  // how long a client should wait before it reconnects
	streamPatience = 10 * time.Second // how long a client may take to read a piece
	pageAlive      = 5 * time.Second  // interval of comments on the silent stream of a page
)

// getEvents streams new events as server-sent events: those of the history, and notices of services. A client that
// reconnects with Last-Event-ID gets what it missed. A query selects a scope of the history, or a subject of notices, or
// both; without one a stream has all.
func (s *Site) getEvents(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeQuery(r)
	if err != nil {
		return err
	}
	named, check, err := s.cfg.Board.choose(r.URL.Query())
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		if _, err := check(); err != nil {
			return err
		}
		w.Header().Set("Content-Type", eventStream)
		return nil
	}
	t := tail{scope: scope, choice: named, check: check, history: scope != "" || named.kind == "", notices: named.kind != "" || scope == ""}
	if t.live, err = yes(r, "live"); err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		t.resumes = true
		if t.after, err = parsePlace(last); err != nil {
			return err
		}
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return Failf(http.StatusServiceUnavailable, "%d event streams are open, and no more are served", cap(s.streams)).
			Named("too-many-streams", "Too many event streams").RetryAfter(5)
	}
	leave, err := s.attach(r, &t)
	if err != nil {
		return err
	}
	defer leave()
	s.stream(newStream(w), r, &t)
	return nil
}

// stream writes events until the client, the listener or the site ends, or a write fails.
func (s *Site) stream(out *stream, r *http.Request, t *tail) {
	defer out.bound() // for the end, which net/http writes
	told := s.begin(r.Context(), out, t)
	var events <-chan *pgops.Event
	var notices <-chan posted
	var wake step.Wake
	if t.history && !t.later {
		events = t.events.events
	}
	if t.notices {
		notices = t.told.notices
	}
	silence := s.cfg.KeepAlive
	if t.live {
		silence = min(silence, pageAlive)
	}
	if t.viewer != nil {
		wake = t.viewer.wake
	}
	alive := time.NewTicker(silence)
	defer alive.Stop()
	for out.err == nil && !out.over {
		select {
		case <-r.Context().Done():
			return
		case <-s.ending:
			out.text(": ending\n\n")
			out.flush()
			return
		case e, ok := <-events:
			if !ok {
				return // it fell behind, or the feed has ended
			}
			if !told[e.ID] {
				out.event(*e)
			}
		case n, ok := <-notices:
			if !ok {
				return // it fell behind
			}
			out.notice(r.Context(), n, t.choice)
		case <-wake:
			if back := out.news(s.shared.next(t.viewer)); back && t.later {
				out.flush()
				return // for the client to come back, now that the history can be followed
			}
		case <-alive.C:
			if _, err := s.admit(r, ToRead); err != nil {
				return // its token was revoked
			}
			out.text(": alive\n\n")
		}
		out.flush()
	}
}

// stream is a response written in pieces, each with its own deadline, and with none in between.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
	err     error // the first error; nothing is written after it
	at      place // of the last event
	over    bool  // there will be no more of what was selected
}

func newStream(w http.ResponseWriter) *stream {
	out := &stream{ResponseWriter: w, control: http.NewResponseController(w)}
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("X-Accel-Buffering", "no") // a proxy that buffers whole responses would deliver nothing
	w.WriteHeader(http.StatusOK)
	return out
}

func (out *stream) text(s string) {
	if out.err == nil {
		out.bound()
		_, out.err = out.Write([]byte(s))
	}
}

func (out *stream) event(e pgops.Event) {
	data, err := json.Marshal(eventOf(e))
	if err != nil {
		out.err = err
		return
	}
	out.at.history = e.ID
	out.text(fmt.Sprintf("id: %s\ndata: %s\n\n", out.at, data))
}

// notice writes a notice that the caller may see. If that is not known the stream ends, and the client resumes before it.
func (out *stream) notice(caller context.Context, n posted, c choice) {
	if n.For != nil && out.err == nil {
		ctx, cancel := context.WithTimeout(caller, streamPatience)
		defer cancel()
		switch err := n.For(ctx); {
		case errors.Is(err, ErrHidden):
			return
		case err != nil:
			out.err = err
			return
		}
	}
	event, data, err := n.shown()
	if err != nil {
		out.err = err
		return
	}
	out.at.run, out.at.notice = n.run, n.number
	out.text(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", out.at, event, data))
	out.over = n.Ends && c.kind != ""
}

// The events of [shared].
const (
	kindSource = "source"
	kindBeats  = "beats"
	kindRows   = "scope"
)

// news writes what is new of the database, of the heartbeats and of the rows. It reports whether the database can be asked.
func (out *stream) news(n news) (up bool) {
	if n.source != nil {
		up = n.source.Database == live.Up || n.source.Database == live.Absent
		out.named(kindSource, *n.source, false)
	}
	if n.rows != nil {
		out.at.rows = n.rows.Version
		out.named(kindRows, *n.rows, true)
	}
	if n.beats != nil {
		out.named(kindBeats, *n.beats, false)
	}
	return up
}

// named writes an event with a name. One that a client can resume after has an id.
func (out *stream) named(name string, v any, resumable bool) {
	data, err := json.Marshal(v)
	if err != nil {
		out.err = err
		return
	}
	id := ""
	if resumable && out.at.live {
		id = fmt.Sprintf("id: %s\n", out.at)
	}
	out.text(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, data))
}

func (out *stream) gap(g gapOf) {
	data, err := json.Marshal(g)
	if err != nil {
		out.err = err
		return
	}
	out.text(fmt.Sprintf("event: gap\ndata: %s\n\n", data))
}

func (out *stream) flush() {
	if out.err == nil {
		out.err = out.control.Flush()
	}
	if out.err == nil {
		_ = out.control.SetWriteDeadline(time.Time{})
	}
}

func (out *stream) bound() { _ = out.control.SetWriteDeadline(time.Now().Add(streamPatience)) }
