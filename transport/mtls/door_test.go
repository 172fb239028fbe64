package mtls_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

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
