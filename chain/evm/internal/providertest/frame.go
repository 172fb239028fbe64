package providertest

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the protocol of WebSockets uses it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// frames is one connection of the WebSocket protocol (RFC 6455), as a server sees it. The house has no
// library for that, and a test needs no more than text, pings and the end.
type frames struct {
	conn net.Conn
	read *bufio.Reader
	mute atomic.Bool // pings are not answered any more

	mu sync.Mutex // one frame at a time
}

const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9

	finished    = 0x80
	masked      = 0x80
	short16     = 126
	long64      = 127
	largestRead = 16 << 20
)

// upgrade answers the handshake and takes the connection over.
func upgrade(w http.ResponseWriter, r *http.Request) (*frames, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see above
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	return &frames{conn: conn, read: buffered.Reader}, err
}

// next returns the next message. It answers pings.
func (f *frames) next() (message []byte, err error) {
	for {
		op, last, payload, err := f.frame()
		switch {
		case err != nil:
			return nil, err
		case op == opClose:
			return nil, io.EOF
		case op == opPing:
			if !f.mute.Load() {
				if err := f.write(opPing+1, payload); err != nil { // the pong
					return nil, err
				}
			}
			continue
		case op > opClose:
			continue
		}
		if message = append(message, payload...); last {
			return message, nil
		}
	}
}

// frame reads one frame. A client masks what it sends.
func (f *frames) frame() (op byte, last bool, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(f.read, head[:]); err != nil {
		return 0, false, nil, err
	}
	size := uint64(head[1] &^ masked)
	switch size {
	case short16:
		var n uint16
		err = binary.Read(f.read, binary.BigEndian, &n)
		size = uint64(n)
	case long64:
		err = binary.Read(f.read, binary.BigEndian, &size)
	}
	if err != nil {
		return 0, false, nil, err
	}
	if size > largestRead || head[1]&masked == 0 {
		return 0, false, nil, errors.New("a frame is too large, or not masked")
	}
	var mask [4]byte
	if _, err = io.ReadFull(f.read, mask[:]); err != nil {
		return 0, false, nil, err
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(f.read, payload)
	for i := range payload {
		payload[i] ^= mask[i%len(mask)]
	}
	return head[0] &^ (finished | 0x70), head[0]&finished != 0, payload, err
}

// write sends one frame, a whole message.
func (f *frames) write(op byte, payload []byte) error {
	head := []byte{finished | op}
	switch size := len(payload); {
	case size < short16:
		head = append(head, byte(size))
	case size < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, short16), uint16(size))
	default:
		head = binary.BigEndian.AppendUint64(append(head, long64), uint64(size))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.conn.Write(append(head, payload...))
	return err
}
