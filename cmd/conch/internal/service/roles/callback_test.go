package roles

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A callback's role ends with the last deadline that its gate had, and no sooner.
func TestACallbackEndsWithItsGate(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("s", nil)
	began := fence.Boottime()
	last := began.Add(1200 * time.Millisecond)
	latch.Open(fence.Token{Scope: "s", Epoch: 1}, 0, began.Add(time.Second)) // extended below, before that
	over := make(chan error, 1)
	go func() { over <- untilOver(t.Context(), gate, fence.Act) }()
	latch.Extend(last)
	pgtest.Within(t, time.Minute, "the role ends", func() {
		if err := <-over; !errors.Is(err, errLate) {
			t.Errorf("the role ended with %v, want errLate", err)
		}
	})
	if now := fence.Boottime(); now < last {
		t.Errorf("the role ended %s after its start, want 1.2s or more", now.Sub(began))
	}

	latch.Open(fence.Token{Scope: "s", Epoch: 2}, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { over <- untilOver(ctx, gate, fence.Act) }()
	cancel()
	pgtest.Within(t, time.Minute, "the role ends when it is asked", func() {
		if err := <-over; err != nil {
			t.Errorf("asked to end, the role ended with %v, want no error", err)
		}
	})
	latch.Shut(errLate)
	if err := untilOver(t.Context(), gate, fence.Act); !errors.Is(err, errLate) {
		t.Errorf("with a shut gate: got %v, want errLate", err)
	}
}

func frame(t *testing.T) node.Frame {
	return node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), ElectorsOver: t.Context()}
}

// program is another program, which records what it is told.
func program(t *testing.T, answer func(verb string, r *http.Request) int) (url string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var verbs []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		verbs = append(verbs, path.Base(r.URL.Path))
		mu.Unlock()
		w.WriteHeader(answer(path.Base(r.URL.Path), r))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(verbs) }
}

// A program that acts before it answers its start is told to stop when the gate shuts, not only
// when it answers.
func TestAStartEndsWithItsGate(t *testing.T) {
	t.Parallel()
	url, told := program(t, func(verb string, r *http.Request) int {
		if verb == "start" {
			<-r.Context().Done()
		}
		return http.StatusOK
	})
	gate, latch := fence.New("s", nil)
	began := fence.Boottime()
	latch.Open(fence.Token{Scope: "s", Epoch: 1}, 0, began.Add(time.Second)) // time enough to be told to start
	c := newCallback(frame(t), url, fence.Act, time.Minute, nil)
	err := c.lead(t.Context(), election.Leadership{Token: fence.Token{Scope: "s", Epoch: 1}, Gate: gate})
	if took := fence.Boottime().Sub(began); !errors.Is(err, errLate) || took >= startPatience {
		t.Errorf("the role ended after %s with %v, want errLate before the start times out", took, err)
	}
	if got := told(); !slices.Equal(got, []string{"start", "stop"}) {
		t.Errorf("the program was told %v, want start and stop", got)
	}
}

// Errors show the URL without its user and password, since a user alone may be a token. Both
// are sent.
func TestACallbackKeepsItsPassword(t *testing.T) {
	t.Parallel()
	var sent atomic.Value
	url, _ := program(t, func(_ string, r *http.Request) int {
		sent.Store(r.Header.Get("Authorization"))
		return http.StatusBadGateway
	})
	for userinfo, header := range map[string]string{"u:hunter2@": "Basic dTpodW50ZXIy", "hunter2@": "Basic aHVudGVyMjo="} {
		for _, to := range []string{url, "http://127.0.0.1:1"} {
			sent.Store("")
			c := newCallback(frame(t), strings.Replace(to, "http://", "http://"+userinfo, 1), fence.Act, time.Minute, nil)
			if err := c.post(t.Context(), "stop", fence.Token{}); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "/stop") {
				t.Errorf("got %v, want an error with the URL and without hunter2", err)
			}
			if got := sent.Load(); to == url && got != header {
				t.Errorf("with %s in the URL it sends the header %q, want Basic with user and password", userinfo, got)
			}
		}
	}
}
