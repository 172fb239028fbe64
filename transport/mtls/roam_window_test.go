package mtls_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// frame writes a frame of HTTP/2.
func frame(to io.Writer, kind, flags byte, stream uint32, payload []byte) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	head = binary.BigEndian.AppendUint32(append(head, kind, flags), stream)
	_, err := to.Write(append(head, payload...))
	return err
}

// closedWindow calls a node as g and says hello. It answers each ping, and lets nothing be sent to it, not even the answer.
func closedWindow(t *testing.T, link *tls.Conn) {
	t.Helper()
	text := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	header := []byte{0x83, 0x87} // POST, https
	for _, field := range [][]byte{
		append([]byte{0x04}, text("/conch.transport.v1/Roam")...), append([]byte{0x01}, text("peer")...),
		append([]byte{0x0f, 0x10}, text("application/connect+conch")...),
		append(append([]byte{0x00}, text("connect-protocol-version")...), text("1")...),
	} {
		header = append(header, field...)
	}
	hello := mtls.HelloOf(mtls.Version, "g", nil)
	_, err := io.WriteString(link, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	for _, f := range []struct {
		kind, flags byte
		stream      uint32
		payload     []byte
	}{
		{4, 0, 0, []byte{0, 4, 0, 0, 0, 0}}, // the window of a stream is 0
		{1, 4, 1, header},
		{0, 0, 1, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(hello))), hello...)},
	} {
		if err == nil {
			err = frame(link, f.kind, f.flags, f.stream, f.payload)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		head := make([]byte, 9)
		for {
			if _, err := io.ReadFull(link, head); err != nil {
				return
			}
			payload := make([]byte, binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))
			if _, err := io.ReadFull(link, payload); err != nil {
				return
			}
			switch ack := head[4]&1 != 0; {
			case ack:
			case head[3] == 4:
				_ = frame(link, 4, 1, 0, nil)
			case head[3] == 6:
				_ = frame(link, 6, 1, 0, payload)
			}
		}
	})
	t.Cleanup(func() { _ = link.Close(); answering.Wait() })
}

// A caller that lives, and takes no answer, does not keep its place: a Connect to it is answered, and a later call of it is taken.
func TestACallerThatTakesNoAnswer(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a := guest(t, ca, "a", mtls.Config{Keepalive: time.Second})
	_, _, show := ca.issue(t, -time.Minute, 10*time.Minute, "g")
	link, err := call(t, a, show)
	if err != nil {
		t.Fatal(err)
	}
	closedWindow(t, link)
	eventually(t, "it is served", func() bool { _, _, sessions, _, _ := a.Kept(); return sessions == 1 })
	a.Connect("g", somewhere(t).Addr().String()) // the listener there says nothing
	_ = said(t, a, "-g")
	eventually(t, "its place is free", func() bool { _, _, sessions, calls, _ := a.Kept(); return sessions+calls == 0 })
}
