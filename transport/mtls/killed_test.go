package mtls_test

import (
	"io"
	"net"
	"sync"
	"testing"

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
