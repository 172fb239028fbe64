package hook

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

const patient = time.Minute

// shelf is a store in memory, which tells of events once.
type shelf struct {
	mu    sync.Mutex
	fresh []Event
	notes []Note
	noted chan Note
	err   error
}

func (s *shelf) Open(context.Context) (Place, Health, error) { return Place{}, Health{}, nil }

func (s *shelf) Turn(_ context.Context, t Turn) (out Turned, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return out, s.err
	}
	if t.Note != nil {
		s.notes = append(s.notes, *t.Note)
		s.noted <- *t.Note
	}
	if t.Events > 0 {
		out.Events, s.fresh = s.fresh, nil
	}
	return out, nil
}

func (s *shelf) adds(ids ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.fresh = append(s.fresh, Event{ID: id, Event: pending.Event{Intent: pending.ID{byte(id)}}})
	}
}

// rig is a deliverer that runs.
type rig struct {
	t     *testing.T
	store *shelf
	d     *Deliverer
	came  chan string
	ended chan error
}

func newRig(t *testing.T, gate *fence.Gate, status int) *rig {
	t.Helper()
	r := &rig{t: t, store: &shelf{noted: make(chan Note, 100)}, came: make(chan string, 100), ended: make(chan error, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.came <- req.Header.Get("webhook-id")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	var err error
	to := Receiver{Name: "shop", URL: server.URL, Keys: [][]byte{[]byte("key")}, Local: true, Body: func(*Event) []byte { return []byte("{}") }}
	if r.d, err = New(to, r.store, Events{}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	go func() { r.ended <- r.d.Run(ctx, gate) }()
	t.Cleanup(func() {
		end()
		_ = r.ends(r.ended)
	})
	return r
}

func (r *rig) ends(from chan error) error {
	r.t.Helper()
	select {
	case err := <-from:
		from <- err
		return err
	case <-time.After(patient):
		r.t.Fatal("it does not end")
		return nil
	}
}

func (r *rig) comes() string {
	r.t.Helper()
	select {
	case id := <-r.came:
		return id
	case <-time.After(patient):
		r.t.Fatal("nothing comes")
		return ""
	}
}

// S16: once the gate is shut nothing is posted any more, whatever waits.
func TestTheGateIsAskedBeforeEachPost(t *testing.T) {
	t.Parallel()
	clock := fence.Instant(1)
	gate, latch := fence.New("webhooks", func() fence.Instant { return clock })
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, 100)
	r := newRig(t, gate, http.StatusOK)
	r.store.adds(1)
	r.d.Wake()
	r.comes()
	latch.Shut(errors.New("over"))
	r.store.adds(2)
	r.d.Wake()
	var shut *fence.ShutError
	if err := r.ends(r.ended); !errors.As(err, &shut) {
		t.Errorf("it ends with %v, want that the gate is shut", err)
	}
	if len(r.came) > 0 {
		t.Errorf("%s was posted behind a shut gate", <-r.came)
	}
	for _, n := range r.store.notes {
		if len(n.Park) > 0 || n.Place.UpTo > 1 {
			t.Errorf("noted %+v, want the first alone", n)
		}
	}
}

// A redirect is a failure, and is not followed.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	r := newRig(t, fence.Standalone("webhooks", "a"), http.StatusPermanentRedirect)
	r.store.adds(1)
	r.d.Wake()
	r.comes()
	select {
	case n := <-r.store.noted:
		if len(n.Park) != 1 || !strings.Contains(n.Park[0].Why, "308: redirects are not followed") {
			t.Errorf("noted %+v", n)
		}
	case <-time.After(patient):
		t.Fatal("nothing is noted")
	}
	if len(r.came) > 0 {
		t.Error("the redirect was followed")
	}
}

// A token that is over ends it.
func TestAStaleTokenEndsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, fence.Standalone("webhooks", "a"), http.StatusOK)
	r.store.mu.Lock()
	r.store.err = fence.ErrStale
	r.store.mu.Unlock()
	r.d.Wake()
	if err := r.ends(r.ended); !errors.Is(err, fence.ErrStale) {
		t.Errorf("it ends with %v", err)
	}
}
