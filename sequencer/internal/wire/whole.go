package wire

import (
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
)

// stored is the version of what stores have of attempts. It is not that of messages: those may change without it.
const stored = 1

// EncodeWhole returns the bytes of one attempt for a store: the version in one byte, and the Whole of wire.proto. It
// keeps no limit, since a node may own attempts that it sends to nobody.
func EncodeWhole(w Whole) ([]byte, error) {
	var e encoder
	out := &wirepb.Whole{Attempt: &wirepb.Attempt{}}
	e.whole(out, &w)
	bytes, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{stored}, out)
	if err != nil {
		return nil, fault(ErrMalformed, "it cannot be encoded")
	}
	return bytes, nil
}

// DecodeWhole is the reverse. It trusts the store with the amount. The error is ErrMalformed or ErrVersion.
func DecodeWhole(in []byte) (w Whole, err error) {
	d := &decoder{}
	if len(in) == 0 {
		return w, fault(ErrMalformed, "there is no version")
	}
	if d.version(uint32(in[0]), stored); d.err != nil {
		return w, d.err
	}
	var p wirepb.Whole
	if err := unmarshal(in[1:], &p); err != nil {
		return w, err
	}
	if d.whole(&w, &p); d.err != nil {
		return Whole{}, d.err
	}
	return w, nil
}
