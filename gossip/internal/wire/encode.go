package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/gossip/internal/wire/internal/wirepb"
)

// Encode returns the bytes of a parcel. The error is ErrMalformed, ErrSize or ErrAge: Decode would refuse it too.
func Encode(p Parcel) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	out := &wirepb.Parcel{Version: Version, Opening: p.Opening}
	for i := range p.Said {
		s := &p.Said[i]
		out.Said = append(out.Said, &wirepb.Said{
			Subject: s.Subject[:], Incarnation: s.Incarnation, Sequence: s.Sequence, Namespace: s.Namespace, Topic: s.Topic,
			Body: s.Body, Signature: s.Signature, Age: s.Age,
		})
	}
	for i := range p.Marks {
		m := &p.Marks[i]
		out.Marks = append(out.Marks, &wirepb.Mark{Name: m.Name[:], Incarnation: m.Incarnation, Sequence: m.Sequence})
	}
	for _, n := range p.Wants {
		out.Wants = append(out.Wants, n[:]...)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(out)
	switch {
	case err != nil:
		return nil, fault(ErrMalformed, "it cannot be encoded")
	case len(b) > MostParcel:
		return nil, fault(ErrSize, "it has %d bytes", len(b))
	}
	return b, nil
}

// check returns the first limit that the parcel breaks.
func (p *Parcel) check() error {
	if len(p.Said) > MostSaid || len(p.Marks) > MostMarks || len(p.Wants) > MostMarks {
		return fault(ErrSize, "%d statements, %d marks, %d wants", len(p.Said), len(p.Marks), len(p.Wants))
	}
	for i := range p.Said {
		if err := p.Said[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check returns the first limit that the statement breaks. The error is ErrMalformed, ErrSize or ErrAge.
func (s *Said) Check() error {
	switch {
	case len(s.Body) > MostBody:
		return fault(ErrSize, "a body of %d bytes", len(s.Body))
	case len(s.Signature) > MostSignature:
		return fault(ErrSize, "a signature of %d bytes", len(s.Signature))
	case len(s.Namespace) > MostName || len(s.Topic) > MostName:
		return fault(ErrSize, "a namespace of %d bytes, a topic of %d", len(s.Namespace), len(s.Topic))
	case !utf8.ValidString(s.Namespace) || !utf8.ValidString(s.Topic):
		return fault(ErrMalformed, "a namespace or a topic is no text")
	case s.Age < 0 || s.Age > MostAge:
		return fault(ErrAge, "%d", s.Age)
	}
	return nil
}
