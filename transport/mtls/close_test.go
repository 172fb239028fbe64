package mtls_test

import (
	"context"
	"net"
	"testing"

	"github.com/conchhq/conch/transport/mtls"
)

// A node that has closed its door lets nobody in any more: a call fails, as where nobody listens. What stands goes on.
func TestAClosedDoor(t *testing.T) {
	t.Parallel()
	all := roamers(t, "a", "b", "c")
	a, b, c := all["a"], all["b"], all["c"]
	from, to := open(t, a), open(t, b)
	b.Connect("a", "")
	_, _ = said(t, a, "+b"), said(t, b, "+a")
	a.CloseDoor()
	a.CloseDoor()
	c.Connect("a", "")
	if got := said(t, c, "-a"); got != "-a" {
		t.Errorf("c was told %s", got)
	}
	until(t, from, "b", to, "goodbye")
	until(t, to, "a", from, "goodbye to you")
	a.Connect("c", "")
	if got := said(t, a, "+c"); got != "+c" {
		t.Errorf("a was told %s", got)
	}
}

// Run closes the door before it waits for the last words of connections that were ended a moment ago. A peer that does not read them
// has it wait for a second.
func TestTheDoorClosesBeforeTheLastWords(t *testing.T) {
	t.Parallel()
	before := func() bool {
		a, g, _ := caller(t, authority(t), mtls.Config{})
		for _, packet := range [][]byte{mtls.HelloOf(mtls.Version, "g", nil), mtls.Confirmation} {
			if err := g.Packet(packet); err != nil {
				t.Fatal(err)
			}
		}
		_ = said(t, a, "+g")
		fillUp(t, a, "g")
		a.Disconnect("g")
		ended := make(chan struct{})
		go func() { defer close(ended); a.stop() }()
		eventually(t, "nobody listens", func() bool {
			link, err := new(net.Dialer).DialContext(context.Background(), "tcp", a.Addr().String())
			if err == nil {
				_ = link.Close()
			}
			return err != nil
		})
		_, _, sessions, _, _ := a.Kept()
		<-ended
		return sessions > 0
	}
	for range 5 { // a machine that is busy may be too slow to see it
		if before() {
			return
		}
	}
	t.Error("the door was open until the last words were said")
}
