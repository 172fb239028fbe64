package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/internal/links"
)

// meeting is node a before a peer b, without sockets: the moments in which calls of both meet.
type meeting struct {
	*Endpoint
	t *testing.T
	b *peer
}

func newMeeting(t *testing.T, self, other string) meeting {
	t.Helper()
	p := newPeer(other, "", Config{}.withDefaults())
	return meeting{t: t, b: p, Endpoint: &Endpoint{
		cfg: Config{Self: self, Roam: true}, peers: map[string]*peer{other: p}, conns: map[*tls.Conn]*conn{}, lines: map[string]*line{},
		links: links.New(), sessions: map[string]*session{}, leaving: map[*conn]bool{}, calls: map[string]*call{}, guests: newGuests(),
	}}
}

// calls makes a call of this node, whose hello may be on its way.
func (m meeting) calls(greeted bool) *call {
	c := &call{peer: m.b, greeted: greeted, cancel: func() {}, done: make(chan struct{})}
	m.Endpoint.calls[m.b.name] = c
	return c
}

// called makes a call of the peer, which has not been seated.
func (m meeting) called() *conn {
	near, far := net.Pipe()
	m.t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	c := &conn{peer: m.b, tls: tls.Server(near, nil), incoming: true}
	m.b.newest = c
	return c
}

func (m meeting) seated(c *conn) *session {
	m.t.Helper()
	s, _, err := m.seat(context.Background(), c, hello{})
	if err != nil || s == nil {
		m.t.Fatalf("the call has no seat: session %v, error %v", s, err)
	}
	return s
}

func (m meeting) refused(c *conn, want Reason) {
	m.t.Helper()
	var r *RefusalError
	if s, _, err := m.seat(context.Background(), c, hello{}); !errors.As(err, &r) || r.Reason != want {
		m.t.Errorf("session %v, error %v; want it refused: %s", s, err, want)
	}
}

func (m meeting) waits(c *conn) <-chan struct{} {
	m.t.Helper()
	s, busy, err := m.seat(context.Background(), c, hello{})
	if s != nil || err != nil || busy == nil {
		m.t.Fatalf("session %v, error %v; want it to wait", s, err)
	}
	return busy
}

func (m meeting) told(want string) {
	m.t.Helper()
	got := ""
	for _, l := range m.Links() {
		got += map[bool]string{true: "+", false: "-"}[l.Up]
	}
	if got != want {
		m.t.Errorf("told %q, want %q", got, want)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// One connection carries one session: a second stream over it is refused. Of two calls of a peer the newer one counts.
func TestASecondStream(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, "a", "b")
	first := m.called()
	m.ended(m.seated(first))
	m.refused(first, Malformed)
	older, newer := m.called(), m.called()
	m.refused(older, TooMany)
	m.ended(m.seated(newer))
	m.told("")
}

// A peer's call waits while another one stands, and while this node's own one comes first.
func TestACallWaits(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, "a", "b")
	own := m.calls(true)
	busy := m.waits(m.called())
	if !m.unanswered(own) || !closed(busy) {
		t.Error("the call waits on though the one before it has failed")
	}
	m.told("-")
	s := m.seated(m.called())
	m.confirm(s)
	busy = m.waits(m.called())
	m.ended(s)
	if !closed(busy) {
		t.Error("the call waits on though the connection before it has ended")
	}
	m.told("+-")
	for greeted, self := range map[bool]string{true: "c", false: "a"} { // the larger name, and one whose hello is not on its way
		m := newMeeting(t, self, "b")
		own := m.calls(greeted)
		s := m.seated(m.called())
		if closed(own.done) {
			t.Error("the own call was called off before the other one is confirmed")
		}
		m.confirm(s)
		if !closed(own.done) || len(m.Endpoint.calls) > 0 {
			t.Error("the own call goes on though the other one is confirmed")
		}
		m.told("+")
	}
}

// An own call that fails while the peer's waits for its confirmation is answered by what becomes of that, or by the next.
func TestACallThatFailsMeanwhile(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, "a", "b")
	own, s := m.calls(false), m.seated(m.called())
	m.unanswered(own)
	m.told("")
	m.confirm(s)
	m.told("+")

	m = newMeeting(t, "a", "b")
	own, s = m.calls(false), m.seated(m.called())
	m.unanswered(own)
	m.ended(s)
	m.told("-")

	m = newMeeting(t, "a", "b")
	own, s = m.calls(false), m.seated(m.called())
	m.unanswered(own)
	again := m.calls(false)
	m.ended(s)
	m.told("")
	m.unanswered(again)
	m.told("-")
}

// A hello is held back while the peer's call waits for its confirmation: two answers at once would end both connections.
func TestAHelloIsHeldBack(t *testing.T) {
	t.Parallel()
	for confirmed, goes := range map[bool]bool{true: false, false: true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMeeting(t, "a", "b")
			own, theirs := m.calls(false), m.seated(m.called())
			went := make(chan bool, 1)
			go func() { went <- m.greet(own) }()
			synctest.Wait()
			if len(went) > 0 || own.greeted {
				t.Fatal("the hello was not held back")
			}
			if confirmed {
				m.mu.Lock()
				m.confirm(theirs)
				m.mu.Unlock()
			} else {
				m.ended(theirs)
			}
			if got := <-went; got != goes {
				t.Errorf("the other call confirmed: %v, and the hello goes: %v", confirmed, got)
			}
		})
	}
}

// An own call that is answered shows that the peer has called off its own, whatever of that is here.
func TestAnAnswerEndsTheOtherCall(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, "c", "b")
	own, theirs := m.calls(true), m.seated(m.called())
	s := m.answered(own, m.called(), hello{})
	if s == nil || m.sessions["b"] != s || !closed(theirs.done) {
		t.Error("the answer has no session, or the other call has one too")
	}
	if !theirs.parted.Load() {
		t.Error("what waits on the other one is read after the answer")
	}
	m.confirm(theirs)
	m.ended(theirs)
	m.told("+")
}

// What a connection had sent is not delivered after a Disconnect, and nobody is to blame.
func TestAConnectionThatWasLeft(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, "a", "b")
	c := m.called()
	m.confirm(m.seated(c))
	packet := appendFrame([]byte{kindBatch}, "s", []byte("body"))
	if frames, err := m.take(c, packet); frames != 1 || err != nil {
		t.Errorf("%d frames, error %v; want one", frames, err)
	}
	m.Disconnect("b")
	if frames, err := m.take(c, packet); frames != 0 || err != nil {
		t.Errorf("%d frames, error %v; want none", frames, err)
	}
	m.told("")
}

// Guests that are refused again and again do not fill the log.
func TestGuestsInTheLog(t *testing.T) {
	t.Parallel()
	all, logged := newGuests(), 0
	for range 100 {
		p := newPeer("g", "", Config{}.withDefaults())
		p.seldom = all.seldom
		for _, at := range []*Reason{&p.here, &p.there} {
			if p.due(at, Malformed) {
				logged++
			}
		}
	}
	if logged != 1 {
		t.Errorf("%d lines, want one", logged)
	}
}

// A peer claims something just after it has answered with its hello, and says so over its own connection, which may arrive
// first. The answer does not take that back: nothing would come after it.
func TestAnOlderAnswerTakesNoClaimBack(t *testing.T) {
	t.Parallel()
	p := newPeer("a", "", Config{Log: slog.New(slog.DiscardHandler)})
	claimed := func(value string) hello {
		return hello{claims: map[string]transport.Claims{"s": {"contract": []byte(value)}}}
	}
	link := &conn{}
	for _, step := range []struct {
		name, want string
		do         func()
	}{
		{"an answer comes first", "one", func() { p.reached(claimed("one")) }},
		{"its own connection", "two", func() { p.heard(link, claimed("two")) }},
		{"an older answer", "two", func() { p.reached(claimed("one")) }},
		{"its connection has ended", "two", func() { p.unheard(link) }},
		{"the next answer", "three", func() { p.reached(claimed("three")) }},
	} {
		step.do()
		if got := string(p.claims["s"]["contract"]); got != step.want {
			t.Errorf("%s: %q counts, want %q", step.name, got, step.want)
		}
	}
}
