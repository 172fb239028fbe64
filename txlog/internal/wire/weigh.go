package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conchhq/conch/txlog/internal/follower"
)

// The fields that are lists, and the way to them.
const (
	answerField                                        = 9 // of Message
	answerRecordsField, answerHeadsField, bridgesField = 2, 3, 4
	bridgeRecordsField                                 = 1
)

// scale counts the items of the lists before any is allocated: an empty item takes two bytes, and a struct a hundred.
type scale struct{ records, heads, bridges, bridged int }

func weigh(in []byte) error {
	var s scale
	err := Fields(in, func(number protowire.Number, value []byte) error {
		if number == answerField {
			return Fields(value, s.answer)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.records > follower.MostRecords || s.heads > follower.MostHeads || s.bridges > follower.MostBridges ||
		s.bridged > follower.MostBridges*follower.MostBridge:
		return Fault(ErrSize, "%d records, %d heads, %d bridges", s.records, s.heads, s.bridges)
	}
	return nil
}

func (s *scale) answer(number protowire.Number, value []byte) error {
	switch number {
	case answerRecordsField:
		s.records++
	case answerHeadsField:
		s.heads++
	case bridgesField:
		s.bridges++
		return Fields(value, func(number protowire.Number, _ []byte) error {
			if number == bridgeRecordsField {
				s.bridged++
			}
			return nil
		})
	}
	return nil
}

// Fields tells of each field; of one with bytes it has them.
func Fields(in []byte, tell func(number protowire.Number, value []byte) error) error {
	for len(in) > 0 {
		number, kind, n := protowire.ConsumeTag(in)
		if n < 0 {
			return Fault(ErrMalformed, "it breaks the rules of the encoding")
		}
		size := protowire.ConsumeFieldValue(number, kind, in[n:])
		if size < 0 {
			return Fault(ErrMalformed, "it breaks the rules of the encoding")
		}
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(in[n:])
		}
		if err := tell(number, value); err != nil {
			return err
		}
		in = in[n+size:]
	}
	return nil
}
