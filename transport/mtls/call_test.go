package mtls

import (
	"errors"
	"testing"
)

// One connection carries one session: a second stream over it is refused.
func TestASecondStream(t *testing.T) {
	t.Parallel()
	p := newPeer("b", "", Config{}.withDefaults())
	e := &Endpoint{peers: map[string]*peer{"b": p}, sessions: map[string]*session{}, calls: map[string]*call{}}
	c := &conn{peer: p}
	p.newest = c
	s, _, err := e.seat(t.Context(), c, hello{})
	if err != nil || s == nil {
		t.Fatalf("the first one: session %v, error %v", s, err)
	}
	e.ended(s)
	var r *RefusalError
	if s, _, err := e.seat(t.Context(), c, hello{}); !errors.As(err, &r) || r.Reason != Malformed {
		t.Errorf("the second one: session %v, error %v; want it refused", s, err)
	}
}
