package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/gossip/internal/overlay/wire/internal/wirepb"
)

const (
	// Version is the version of the format that this package writes. It reads that one and all before it.
	Version = 1
	// MostBytes is the largest message, in bytes: an exchange with names and addresses as long as they may be.
	MostBytes = 12 << 10
)

// The fields of an Envelope that are bodies, those to come too.
const (
	firstBody = 16
	lastBody  = 1000
)

var (
	// ErrMalformed means that bytes are no message, or that a message breaks a limit of package overlay.
	ErrMalformed = errors.New("the message is malformed")
	// ErrSize means that a message is larger than MostBytes.
	ErrSize = errors.New("the message is too large")
	// ErrVersion means that a message has a version newer than [Version].
	ErrVersion = errors.New("the message has a newer version")
	// ErrKind means that a message has a body that is not known here: its sender is newer.
	ErrKind = errors.New("the message has a body of an unknown kind")
)

// Encode returns the bytes of a message. The error is ErrMalformed.
func Encode(m overlay.Message) ([]byte, error) {
	if !overlay.Sound(m) {
		return nil, fmt.Errorf("overlay: %w: %T", ErrMalformed, m)
	}
	p := &wirepb.Envelope{Version: Version}
	switch m := m.(type) {
	case overlay.Hello:
		p.Body = &wirepb.Envelope_Hello{Hello: &wirepb.Hello{Address: m.Address, Incarnation: m.Incarnation, Holds: m.Holds}}
	case overlay.Subscribe:
		p.Body = &wirepb.Envelope_Subscribe{Subscribe: &wirepb.Subscribe{Number: m.Number}}
	case overlay.Welcome:
		p.Body = &wirepb.Envelope_Welcome{Welcome: &wirepb.Welcome{Number: m.Number, Met: encodePeers(m.Met)}}
	case overlay.Forward:
		p.Body = &wirepb.Envelope_Forward{Forward: &wirepb.Forward{Number: m.Number, Newcomer: encodePeer(m.Newcomer)}}
	case overlay.Exchange:
		p.Body = &wirepb.Envelope_Exchange{Exchange: &wirepb.Exchange{Number: m.Number, Arcs: encodePeers(m.Arcs)}}
	case overlay.Exchanged:
		p.Body = &wirepb.Envelope_Exchanged{Exchanged: &wirepb.Exchanged{Number: m.Number, Arcs: encodePeers(m.Arcs)}}
	case overlay.Goodbye:
		p.Body = &wirepb.Envelope_Goodbye{Goodbye: &wirepb.Goodbye{}}
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("overlay: %w: %w", ErrMalformed, err)
	}
	return out, nil
}

// Decode returns the message that the bytes are. The error is one of those above. Lists without items are nil, and the
// message does not keep the bytes.
func Decode(in []byte) (overlay.Message, error) {
	if len(in) > MostBytes {
		return nil, fmt.Errorf("overlay: %w: it has %d bytes, and %d are allowed", ErrSize, len(in), MostBytes)
	}
	var p wirepb.Envelope
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, &p); err != nil {
		return nil, fmt.Errorf("overlay: %w: it breaks the rules of the encoding", ErrMalformed)
	}
	switch {
	case p.Version > Version:
		return nil, fmt.Errorf("overlay: %w: %d, and this is %d", ErrVersion, p.Version, Version)
	case p.Version == 0:
		return nil, fmt.Errorf("overlay: %w: there is no version", ErrMalformed)
	}
	m := body(&p)
	if m == nil {
		return nil, stranger(in)
	}
	if !overlay.Sound(m) {
		return nil, fmt.Errorf("overlay: %w: %T breaks a limit", ErrMalformed, m)
	}
	return m, nil
}

func body(p *wirepb.Envelope) overlay.Message {
	switch b := p.Body.(type) {
	case *wirepb.Envelope_Hello:
		return overlay.Hello{Address: b.Hello.Address, Incarnation: b.Hello.Incarnation, Holds: b.Hello.Holds}
	case *wirepb.Envelope_Subscribe:
		return overlay.Subscribe{Number: b.Subscribe.Number}
	case *wirepb.Envelope_Welcome:
		return overlay.Welcome{Number: b.Welcome.Number, Met: decodePeers(b.Welcome.Met)}
	case *wirepb.Envelope_Forward:
		return overlay.Forward{Number: b.Forward.Number, Newcomer: decodePeer(b.Forward.Newcomer)}
	case *wirepb.Envelope_Exchange:
		return overlay.Exchange{Number: b.Exchange.Number, Arcs: decodePeers(b.Exchange.Arcs)}
	case *wirepb.Envelope_Exchanged:
		return overlay.Exchanged{Number: b.Exchanged.Number, Arcs: decodePeers(b.Exchanged.Arcs)}
	case *wirepb.Envelope_Goodbye:
		return overlay.Goodbye{}
	}
	return nil
}

// stranger says what is wrong with a message in which no body was found.
func stranger(in []byte) error {
	for len(in) > 0 {
		number, _, n := protowire.ConsumeField(in)
		if n < 0 {
			break
		}
		if number >= firstBody && number <= lastBody {
			return fmt.Errorf("overlay: %w: number %d", ErrKind, number)
		}
		in = in[n:]
	}
	return fmt.Errorf("overlay: %w: there is no body", ErrMalformed)
}

func encodePeer(p overlay.Peer) *wirepb.Peer {
	return &wirepb.Peer{Name: p.Name, Address: p.Address}
}

func encodePeers(all []overlay.Peer) (out []*wirepb.Peer) {
	for _, p := range all {
		out = append(out, encodePeer(p))
	}
	return out
}

func decodePeer(p *wirepb.Peer) overlay.Peer {
	return overlay.Peer{Name: p.GetName(), Address: p.GetAddress()}
}

func decodePeers(all []*wirepb.Peer) (out []overlay.Peer) {
	for _, p := range all {
		out = append(out, decodePeer(p))
	}
	return out
}
