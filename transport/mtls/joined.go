package mtls

import (
	"encoding/binary"
	"io"
	"net/http"
)

// joining is a way for requests whose bodies leave in whole messages. The library writes the length of a message and the message one
// after the other, and HTTP/2 would make a frame and a packet of each: the sender and its peer would work twice for each message.
type joining struct{ way http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (j joining) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		with := *r // a request is its maker's
		with.Body = &joined{ReadCloser: r.Body}
		r = &with
	}
	return j.way.RoundTrip(r)
}

// lengthAt is where the length of a message is before it, and prefix is how long that is together.
const lengthAt, prefix = 1, 5

// joined reads messages, no more than one at a time, and each with its prefix.
type joined struct {
	io.ReadCloser

	head [prefix]byte
	rest []byte // of the head
	left int    // bytes of the message after it
}

// Read implements io.Reader.
func (j *joined) Read(p []byte) (n int, err error) {
	if len(j.rest) == 0 && j.left == 0 {
		if n, err := io.ReadFull(j.ReadCloser, j.head[:]); err != nil {
			return copy(p, j.head[:n]), err
		}
		j.rest, j.left = j.head[:], int(binary.BigEndian.Uint32(j.head[lengthAt:]))
	}
	n = copy(p, j.rest)
	j.rest = j.rest[n:]
	more, err := io.ReadFull(j.ReadCloser, p[n:min(len(p), n+j.left)])
	j.left -= more
	return n + more, err
}
