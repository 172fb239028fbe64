package mtls

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// Bytes come out as they went in, a message at a time, however they are written and read.
func TestMessagesAreJoined(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 1, 300, 0, 70_000}
	var all []byte
	for i, size := range sizes {
		all = binary.BigEndian.AppendUint32(append(all, 0), uint32(size))
		all = append(all, slices.Repeat([]byte{byte(i)}, size)...)
	}
	for _, room := range []int{1, 4, 5, 6, 512, 16 << 10, 1 << 20} {
		in, out := io.Pipe()
		go func() {
			for from := 0; from < len(all); {
				n, _ := out.Write(all[from:min(from+5, len(all))])
				from += n
			}
			_ = out.Close()
		}()
		j := &joined{ReadCloser: in}
		var got []byte
		reads := 0
		for p := make([]byte, room); ; reads++ {
			n, err := j.Read(p)
			if got = append(got, p[:n]...); errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, all) {
			t.Fatalf("with room for %d bytes, %d of %d came out, or others", room, len(got), len(all))
		}
		if room > 70_005 && reads != len(sizes) {
			t.Errorf("%d messages were read %d times", len(sizes), reads)
		}
	}
}

// What ends in the middle of a message does not pass for its end.
func TestAMessageThatBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, body := range []io.Reader{
		io.MultiReader(iotest.OneByteReader(&countedReader{left: 3}), iotest.ErrReader(broken)),
		io.MultiReader(iotest.OneByteReader(&countedReader{left: 8}), iotest.ErrReader(broken)),
	} {
		if _, err := io.ReadAll(&joined{ReadCloser: io.NopCloser(body)}); !errors.Is(err, broken) {
			t.Errorf("it ends with %v", err)
		}
	}
}

// countedReader has some bytes of 9.
type countedReader struct{ left int }

func (c *countedReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(c.left, len(p))
	for i := range n {
		p[i] = 9
	}
	c.left -= n
	return n, nil
}

// counting counts what leaves over a connection.
type counting struct {
	net.Conn

	writes atomic.Int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A message is one packet on its way.
func TestAMessageIsOnePacket(t *testing.T) {
	t.Parallel()
	const messages, size = 100, 200
	heard := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message := make([]byte, prefix+size)
		for {
			if _, err := io.ReadFull(r.Body, message); err != nil {
				return
			}
			heard <- struct{}{}
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	raw, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	counts := &counting{Conn: raw}
	link := tls.Client(counts, &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, InsecureSkipVerify: true})
	defer func() { _ = link.Close() }()
	stream, free, err := dialogue(t.Context(), link, time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	before := int64(0)
	for i := range messages + 1 {
		if err := stream.Send(&outgoing{make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
		<-heard
		if i == 0 {
			before = counts.writes.Load() // the handshake and the header were part of that
		}
	}
	if n := counts.writes.Load() - before; n > messages*5/4 {
		t.Errorf("%d messages left in %d writes", messages, n)
	}
	_ = stream.CloseRequest()
}
