package hook

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/webhook"
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
	came := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		came <- req.Header.Get("webhook-id")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	r := newRigAt(t, gate, server.URL)
	r.came = came
	return r
}

// newRigAt posts to an address.
func newRigAt(t *testing.T, gate *fence.Gate, url string) *rig {
	t.Helper()
	r := &rig{t: t, store: &shelf{noted: make(chan Note, 100)}, ended: make(chan error, 1)}
	var err error
	to := Receiver{Name: "shop", URL: url, Keys: [][]byte{[]byte("key")}, Local: true, Body: func(*Event) []byte { return []byte("{}") }}
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

// S15: once the gate is shut nothing is posted any more, whatever waits.
func TestTheGateIsAskedBeforeEachPost(t *testing.T) {
	t.Parallel()
	clock := fence.Instant(1)
	gate, latch := fence.New("webhooks", func() fence.Instant { return clock })
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, fence.Instant(time.Hour))
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

// until returns an answer of the gate after its end.
func until(t *testing.T, gate *fence.Gate) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	err := gate.Do(ctx, fence.Act, 0, func(answer context.Context, _ fence.Token) error {
		<-answer.Done()
		return nil
	})
	if err != nil || ctx.Err() != nil {
		t.Errorf("the gate's answer does not end: %v, %v", err, ctx.Err())
	}
}

// stuck is a connection whose receiver does not read.
type stuck struct {
	net.Conn

	began chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	s.began <- struct{}{}
	return s.Conn.Write(b)
}

// stucks returns the loop of a deliverer whose connection is stuck, and that connection's other end.
func stucks(t *testing.T, gate *fence.Gate) (l *loop, first stuck, there net.Conn) {
	t.Helper()
	token, err := gate.Require(fence.Act)
	if err != nil {
		t.Fatal(err)
	}
	l = &loop{Deliverer: &Deliverer{receiver: Receiver{URL: "http://127.0.0.1/", Body: func(*Event) []byte { return []byte("{}") }}}, gate: gate, token: token}
	here, there := net.Pipe()
	first = stuck{here, make(chan struct{}, 10)}
	transport := webhook.Guard(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return first, nil }}, l.act)
	l.client = transport
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(func() { _ = there.Close() })
	return l, first, there
}

// S15: a POST is an act until its last byte has left, also what of it fits in a buffer: a handover waits for it, and cuts it off.
func TestAWriteIsAnAct(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("webhooks", func() fence.Instant { return 1 })
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, fence.Instant(time.Hour))
	l, first, there := stucks(t, gate)
	sent := make(chan error, 1)
	go func() { sent <- l.send(t.Context(), &Event{}) }()
	<-first.began
	if n := latch.Acts(); n != 1 {
		t.Errorf("%d acts are under way, want the write", n)
	}
	latch.Shut(errors.New("over"))
	drain, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	if err := latch.Drain(drain); err != nil {
		t.Fatalf("the handover waits for the write: %v", err)
	}
	_ = there.SetReadDeadline(time.Now().Add(patient))
	if n, err := there.Read(make([]byte, 1000)); n > 0 {
		t.Errorf("%d bytes are sent after the handover, %v", n, err)
	}
	var shut *fence.ShutError
	if err := <-sent; !errors.As(err, &shut) {
		t.Errorf("got %v, want that the gate is shut", err)
	}
}

// A write that outlives an answer of the gate goes on while the gate is open, and the event is told once.
func TestWhatIsCutGoesOn(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("webhooks", func() fence.Instant { return 1 }) // answers end, and the gate stays open
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, 1+fence.Instant(300*time.Millisecond))
	l, first, there := stucks(t, gate)
	sent := make(chan error, 1)
	go func() { sent <- l.send(t.Context(), &Event{}) }()
	<-first.began
	until(t, gate)
	select {
	case <-first.began: // it was cut off, and goes on
	case <-time.After(patient):
		t.Fatal("it does not go on")
	}
	_ = there.SetDeadline(time.Now().Add(patient))
	req, err := http.ReadRequest(bufio.NewReader(there))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	_, fault := there.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	if err := errors.Join(err, fault, <-sent); err != nil || string(body) != "{}" {
		t.Errorf("got %v and %q, want the event once, after the receiver was stuck", err, body)
	}
}

// S15: a gate that is shut while a connection is made sends nothing over it.
func TestAGateThatShutsOverAConnection(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("webhooks", func() fence.Instant { return 1 })
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, fence.Instant(time.Hour))
	token, err := gate.Require(fence.Act)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	came := make(chan int, 1)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		n, _ := c.Read(make([]byte, 10))
		came <- n
		_ = c.Close()
	}()
	d := &Deliverer{receiver: Receiver{URL: "http://" + listener.Addr().String(), Body: func(*Event) []byte { return []byte("{}") }}}
	l := &loop{Deliverer: d, gate: gate, token: token}
	transport := newTransport(true, l.act)
	connect := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := connect(ctx, network, address)
		latch.Shut(errors.New("over"))
		return c, err
	}
	l.client = transport
	var shut *fence.ShutError
	if err := l.post(t.Context(), &Event{}); !errors.As(err, &shut) {
		t.Errorf("got %v, want that the gate is shut", err)
	}
	transport.CloseIdleConnections()
	select {
	case n := <-came:
		if n > 0 {
			t.Errorf("%d bytes were sent behind a shut gate", n)
		}
	case <-time.After(patient):
		t.Fatal("the connection stays open")
	}
}

// What is sent happens within the gate's answer; the receiver may take longer than that to confirm it, while the role lasts.
func TestAReceiverTakesLongerThanTheGatesAnswer(t *testing.T) {
	t.Parallel()
	gate, latch := fence.New("webhooks", func() fence.Instant { return 1 }) // answers end, and the gate stays open
	latch.Open(fence.Token{Scope: "webhooks", Epoch: 1, Term: fence.Term{1}}, 0, 1+fence.Instant(300*time.Millisecond))
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { until(t, gate) }))
	t.Cleanup(server.Close)
	r := newRigAt(t, gate, server.URL)
	r.store.adds(1)
	r.d.Wake()
	select {
	case n := <-r.store.noted:
		if n.Place.UpTo != 1 || len(n.Park) > 0 {
			t.Errorf("noted %+v, want that it was confirmed", n)
		}
	case err := <-r.ended:
		r.ended <- err
		t.Errorf("it ends with %v", err)
	case <-time.After(patient):
		t.Fatal("nothing is noted")
	}
}

// Rule no-redirects: a redirect is a failure, and is not followed.
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
