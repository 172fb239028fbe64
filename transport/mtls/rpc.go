package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// procedure is the one call that there is: a stream of packets to the peer, which answers with its hello and nothing else.
// Nodes that roam have another one, in which both sides send packets after their hellos.
const (
	procedure        = "/conch.transport.v1/Talk"
	procedureRoaming = "/conch.transport.v1/Roam"
)

const (
	// window is how many bytes a peer may send ahead of the reader: the most that the library has, so that a line with
	// 100 ms there and back carries 40 MB a second.
	window = 4<<20 - 1
	// windowRoaming is the same for each of many peers, which have little to say.
	windowRoaming = 256 << 10
	// frameRoaming is the largest frame that is read then: the sender keeps a buffer of that size for each connection.
	frameRoaming = 16 << 10
	// mostHeader is how large the header of a request or an answer may be.
	mostHeader = 16 << 10
)

// outgoing is a packet to send.
type outgoing struct{ packet []byte }

// incoming receives a packet. Its memory is used again for the next one.
type incoming struct{ packet []byte }

// codec hands packets through: what is in them was written by this package.
type codec struct{}

var _ connect.Codec = codec{}

// Name implements connect.Codec.
func (codec) Name() string { return "conch" }

// Marshal implements connect.Codec.
func (c codec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend spares the library an allocation.
func (codec) MarshalAppend(to []byte, message any) ([]byte, error) {
	m, ok := message.(*outgoing)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", message)
	}
	return append(to, m.packet...), nil
}

// Unmarshal implements connect.Codec. The library uses data again.
func (codec) Unmarshal(data []byte, message any) error {
	m, ok := message.(*incoming)
	if !ok {
		return fmt.Errorf("cannot receive a %T", message)
	}
	if cap(m.packet) > 4*fullBatch && len(data) <= fullBatch {
		m.packet = nil // the memory of one large message is not kept for small ones
	}
	m.packet = append(m.packet[:0], data...)
	return nil
}

// http2 has the limits of a connection.
func http2(keepalive time.Duration, roaming bool) *http.HTTP2Config {
	ahead, frame := window, 256<<10
	if roaming {
		ahead, frame = windowRoaming, frameRoaming
	}
	return &http.HTTP2Config{
		MaxConcurrentStreams: 1, MaxReadFrameSize: frame, MaxReceiveBufferPerConnection: ahead, MaxReceiveBufferPerStream: ahead,
		SendPingTimeout: keepalive, PingTimeout: keepalive, WriteByteTimeout: 2 * keepalive,
	}
}

// protocols are HTTP/2 and nothing else.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(true)
	return p
}

// over returns a stream over one connection, and what frees its resources.
func over(ctx context.Context, conn *tls.Conn, keepalive time.Duration, others ...connect.ClientOption) (stream connect.StreamingClientConn, free func(), err error) {
	return dialogue(ctx, conn, keepalive, false, others...)
}

// dialogue is over, in which with roaming the peer sends packets too.
func dialogue(ctx context.Context, conn *tls.Conn, keepalive time.Duration, roaming bool, others ...connect.ClientOption) (stream connect.StreamingClientConn, free func(), err error) {
	path, most := procedure, mostHello
	if roaming {
		path, most = procedureRoaming, mostPacket
	}
	once := make(chan *tls.Conn, 1)
	once <- conn
	way := &http.Transport{
		Protocols: protocols(), HTTP2: http2(keepalive, roaming), ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: mostHeader,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-once:
				return c, nil
			default:
				return nil, errors.New("the connection is gone") // it is for the sender to make another
			}
		},
	}
	client := connect.NewClient[outgoing, incoming](&http.Client{Transport: joining{way}}, "https://peer"+path,
		append([]connect.ClientOption{connect.WithCodec(codec{}), connect.WithReadMaxBytes(most), connect.WithAcceptCompression("gzip", nil, nil)}, others...)...)
	stream, err = client.CallBidiStream(ctx).Conn()
	return stream, way.CloseIdleConnections, err
}

// refusedUs tells an answer that refuses this node from a connection that broke.
func refusedUs(peer string, err error) *RefusalError {
	if refused, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		switch refused.Code() {
		case connect.CodeFailedPrecondition:
			return refuse(peer, OtherVersion, "it says %.200q", refused.Message())
		case connect.CodePermissionDenied, connect.CodeInvalidArgument, connect.CodeResourceExhausted:
			return refuse(peer, RefusedUs, "it says %.200q", refused.Message())
		case connect.CodeAlreadyExists:
			return refuse(peer, RefusedUs, "it says %.200q: %w", refused.Message(), errTwin)
		case connect.CodeUnavailable:
			return refuse(peer, Crowded, "it says %.200q", refused.Message())
		}
	}
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return refuse(peer, OtherVersion, "only one of the two roams")
	}
	if strings.Contains(err.Error(), "remote error: tls: ") { // the library flattens the error
		return refuse(peer, RefusedUs, "%.200s", err)
	}
	return refusalOf(err, peer, Ended)
}
