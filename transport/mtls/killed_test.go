package mtls_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// mortal serves one connection to an address. What it returns ends that as the end of a process does.
func mortal(t *testing.T, to string) (address string, kill func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	kill = sync.OnceFunc(func() { close(dead) })
	var running sync.WaitGroup
	running.Go(func() {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		defer near.Close()
		far, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer far.Close()
		running.Go(func() { _, _ = io.Copy(near, far) })
		running.Go(func() { _, _ = io.Copy(far, near) })
		<-dead
	})
	t.Cleanup(func() { kill(); _ = listener.Close(); running.Wait() })
	return listener.Addr().String(), kill
}

// A peer that is killed has done nothing wrong.
func TestAPeerIsKilled(t *testing.T) {
	t.Parallel()
	all := roamers(t, "a", "b")
	a, b := all["a"], all["b"]
	address, kill := mortal(t, b.Addr().String())
	a.Connect("b", address)
	eventually(t, "they are connected", func() bool { return len(a.Peers()) == 1 && len(b.Peers()) == 1 })
	kill()
	eventually(t, "the connection has ended", func() bool { return len(a.Connections("b")) == 0 })
	for _, n := range []*node{a, b} {
		for peer, s := range n.Stats().Peers {
			if s.Refused[mtls.Malformed] > 0 {
				t.Errorf("%s is blamed: %v", peer, s.Refused)
			}
		}
	}
}

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

// A crowd that comes at one time waits for places, and nobody goes as long as some become free; one that only holds places
// loses one of them each time that none does (I10).
func TestACrowdAtTheDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := mtls.NewDoor()
		var all, others []net.Conn
		come := func() net.Conn {
			one, other := net.Pipe()
			others = append(others, other)
			go func() {
				if _, err := other.Read(make([]byte, 1)); errors.Is(err, io.EOF) { // it had to go: its handshake fails
					d.Leave(one)
				}
			}()
			if !d.Enter(one) {
				t.Fatal("the door has closed")
			}
			return one
		}
		for range transport.MostStrangers {
			all = append(all, come())
		}
		for i := range 50 { // each place is free again after half the time
			time.AfterFunc(transport.StrangerWaits/2, func() { d.Leave(all[i]) })
			come()
		}
		if n := d.Waiting(); n != transport.MostStrangers {
			t.Errorf("%d of %d are left: some had to go, although places became free", n, transport.MostStrangers)
		}
		began := time.Now()
		come()
		if took := time.Since(began); took != transport.StrangerWaits {
			t.Errorf("with all places held one is free after %v, want %v", took, transport.StrangerWaits)
		}
		for _, c := range others {
			_ = c.Close()
		}
	})
}
