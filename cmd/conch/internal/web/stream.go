package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

const (
	eventStream    = "text/event-stream"
	retryHint      = 2 * time.Second  // how long a client is asked to wait before it comes back
	streamPatience = 10 * time.Second // a client that takes nothing for this long is gone
)

// getEvents streams new events as server-sent events. The id of each is its id in
// the history; a client that comes back with Last-Event-ID gets what it missed.
func (s *Site) getEvents(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeQuery(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventStream)
		return nil
	}
	var after int64
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if after, err = strconv.ParseInt(last, 10, 64); err != nil || after < 0 {
			return Failf(http.StatusBadRequest, "Last-Event-ID = %q is no id of an event", last)
		}
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return Failf(http.StatusServiceUnavailable, "%d event streams are open, and no more are served", cap(s.streams)).
			Named("too-many-streams", "Too many event streams").RetryAfter(5)
	}
	l, missed, gap, err := s.feed.join(r.Context(), scope, after)
	if err != nil {
		return err
	}
	defer s.feed.leave(l)
	s.stream(newStream(w), r, l, missed, gap)
	return nil
}

// stream writes until the client, the listener or the site has ended. Nothing can
// be told to a client whose connection is broken, so errors just end it.
func (s *Site) stream(out *stream, r *http.Request, l *listener, missed []pgops.Event, gap bool) {
	defer out.bound() // the server itself writes the end
	out.text(fmt.Sprintf("retry: %d\n\n", retryHint.Milliseconds()))
	if gap {
		out.text("event: gap\ndata: {}\n\n")
	}
	told := map[int64]bool{} // of those missed: they may be in the queue as well
	for _, e := range missed {
		told[e.ID] = true
		out.event(e)
	}
	out.flush()
	alive := time.NewTicker(s.cfg.KeepAlive)
	defer alive.Stop()
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-s.ending:
			out.text(": ending\n\n")
			out.flush()
			return
		case e, ok := <-l.events:
			if !ok {
				return // it fell behind
			}
			if !told[e.ID] {
				out.event(*e)
			}
		case <-alive.C:
			if _, err := s.admit(r, ToRead); err != nil {
				return // its token was taken away
			}
			out.text(": alive\n\n")
		}
		out.flush()
	}
}

// stream is a response that is written piece by piece, each with a deadline of its own
// and none between two.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
	err     error // the first; nothing is written after it
}

func newStream(w http.ResponseWriter) *stream {
	out := &stream{ResponseWriter: w, control: http.NewResponseController(w)}
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("X-Accel-Buffering", "no") // a proxy that collects a page first would never deliver
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
	out.text(fmt.Sprintf("id: %d\ndata: %s\n\n", e.ID, data))
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
