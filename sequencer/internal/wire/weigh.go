package wire

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
)

// Two bytes can claim a part of a message that takes hundreds in memory. So bytes are weighed before they are read. Each
// part of a list has leastPart bytes at least (wire.proto); partsBeside are there once.
const (
	leastPart   = 16
	partsBeside = 8
	// numbers is above the number of every field that has parts.
	numbers = 34
)

// shape is a type of message, as far as it has to be known to weigh one: the fields that have parts, by their numbers.
type shape [numbers]struct {
	is   bool
	list bool   // there may be many
	each *shape // nil if they are bytes
}

// shapeOf ends, since no type has itself as a part.
func shapeOf(d protoreflect.MessageDescriptor) *shape {
	s := &shape{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if f.Message() == nil && !f.IsList() {
			continue
		}
		at := &s[f.Number()]
		at.is, at.list = true, f.IsList()
		if f.Message() != nil {
			at.each = shapeOf(f.Message())
		}
	}
	return s
}

var (
	envelopeShape = sync.OnceValue(func() *shape { return shapeOf((&wirepb.Envelope{}).ProtoReflect().Descriptor()) })
	beatShape     = sync.OnceValue(func() *shape { return shapeOf((&wirepb.Beat{}).ProtoReflect().Descriptor()) })
)

// weigh refuses bytes that would take much more memory than their length, or have something twice that is there once:
// two programs may understand such a message differently.
func (s *shape) weigh(in []byte) error {
	parts, err := s.count(in)
	if err == nil && (parts-partsBeside)*leastPart > len(in) {
		err = fault(ErrMalformed, "%d bytes cannot have %d parts", len(in), parts)
	}
	return err
}

// count returns how many parts there are, on all levels.
func (s *shape) count(in []byte) (parts int, err error) {
	var seen [numbers]int32
	for len(in) > 0 {
		number, kind, tag := protowire.ConsumeTag(in)
		if tag < 0 {
			return 0, fault(ErrMalformed, "a field breaks the rules of the encoding")
		}
		in = in[tag:]
		value := protowire.ConsumeFieldValue(number, kind, in)
		if value < 0 {
			return 0, fault(ErrMalformed, "the field %d breaks the rules of the encoding", number)
		}
		if number < numbers && kind == protowire.BytesType && s[number].is {
			p := &s[number]
			seen[number]++
			if p.list && seen[number] > MostItems {
				return 0, fault(ErrSize, "a list has more than %d items", MostItems)
			} else if !p.list && seen[number] > 1 {
				return 0, fault(ErrMalformed, "the field %d is there twice", number)
			}
			inner := 0
			if p.each != nil {
				body, _ := protowire.ConsumeBytes(in)
				if inner, err = p.each.count(body); err != nil {
					return 0, err
				}
			}
			parts += 1 + inner
		}
		in = in[value:]
	}
	return parts, nil
}
