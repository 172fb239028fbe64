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
	retryHint      = 2 * time.Second  // how long a client should wait before it reconnects
	streamPatience = 10 * time.Second // how long a client may take to read a piece
)

// getEvents streams new events as server-sent events with their ids in the history. A client
// that reconnects with Last-Event-ID gets what it missed.
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

// stream writes events until the client, the listener or the site ends, or a write fails.
func (s *Site) stream(out *stream, r *http.Request, l *listener, missed []pgops.Event, gap bool) {
	defer out.bound() // for the end, which net/http writes
	out.text(fmt.Sprintf("retry: %d\n\n", retryHint.Milliseconds()))
	if gap {
		out.text("event: gap\ndata: {}\n\n")
	}
	told := map[int64]bool{} // ids of missed events, which may be in the queue as well
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
				return // it fell behind, or the feed has ended
			}
			if !told[e.ID] {
				out.event(*e)
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
