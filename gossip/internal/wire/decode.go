package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/gossip/internal/wire/internal/wirepb"
)

// Decode returns the parcel that the bytes are. It takes whatever the network brings, and never allocates more than a
// small multiple of its length. The error is ErrMalformed, ErrVersion, ErrSize or ErrAge; with one there is no parcel.
//
// Lists without items are nil. Fields that are not known are ignored. The parcel does not keep the bytes.
func Decode(in []byte) (Parcel, error) {
	if len(in) > MostParcel {
		return Parcel{}, fault(ErrSize, "it has %d bytes", len(in))
	}
	if err := weigh(in); err != nil {
		return Parcel{}, err
	}
	var read wirepb.Parcel
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, &read); err != nil {
		return Parcel{}, fault(ErrMalformed, "it breaks the rules of the encoding")
	}
	switch {
	case read.Version > Version:
		return Parcel{}, fault(ErrVersion, "%d, and this is %d", read.Version, Version)
	case read.Version == 0:
		return Parcel{}, fault(ErrMalformed, "there is no version")
	}
	p, err := parcel(&read)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return Parcel{}, err
	}
	return p, nil
}

// The fields of a Parcel that are lists.
const saidField, marksField = 3, 4

// weigh counts the items of the lists before any is allocated: an empty item takes two bytes, and a struct a hundred.
func weigh(in []byte) error {
	said, marks := 0, 0
	for len(in) > 0 {
		number, _, n := protowire.ConsumeField(in)
		if n < 0 {
			return fault(ErrMalformed, "it breaks the rules of the encoding")
		}
		switch number {
		case saidField:
			said++
		case marksField:
			marks++
		}
		in = in[n:]
	}
	if said > MostSaid || marks > MostMarks {
		return fault(ErrSize, "%d statements, %d marks", said, marks)
	}
	return nil
}

func parcel(read *wirepb.Parcel) (Parcel, error) {
	p := Parcel{Opening: read.Opening}
	if len(read.Said) > 0 {
		p.Said = make([]Said, len(read.Said))
	}
	for i, s := range read.Said {
		to := &p.Said[i]
		if len(s.Subject) != len(to.Subject) {
			return p, fault(ErrMalformed, "a subject of %d bytes", len(s.Subject))
		}
		copy(to.Subject[:], s.Subject)
		to.Incarnation, to.Sequence, to.Namespace, to.Topic = s.Incarnation, s.Sequence, s.Namespace, s.Topic
		to.Body, to.Signature, to.Age = s.Body, s.Signature, s.Age
	}
	if len(read.Marks) > 0 {
		p.Marks = make([]Mark, len(read.Marks))
	}
	for i, m := range read.Marks {
		to := &p.Marks[i]
		if len(m.Name) != len(to.Name) {
			return p, fault(ErrMalformed, "a name of %d bytes", len(m.Name))
		}
		copy(to.Name[:], m.Name)
		to.Incarnation, to.Sequence = m.Incarnation, m.Sequence
	}
	if len(read.Wants)%16 != 0 {
		return p, fault(ErrMalformed, "%d bytes are no names of 16", len(read.Wants))
	}
	for b := read.Wants; len(b) > 0; b = b[16:] {
		p.Wants = append(p.Wants, Name(b[:16]))
	}
	return p, nil
}
