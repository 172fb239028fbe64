package extrinsic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// ErrShape is in the error of Named.Call: the runtime would read the arguments as something else (Z14).
var ErrShape = errors.New("has other arguments in this runtime")

// Named is a call as it is stored until it is final: by its names, with what its arguments meant when it was accepted. The runtime
// may give it other indices meanwhile, and may not give it another meaning.
type Named struct {
	Pallet, Name string
	Arguments    []byte
	Shape        metadata.Shape
}

const namedVersion = 1

// Name names a call of a runtime with its encoded arguments. The error wraps metadata.ErrUnknown or scale.ErrMalformed.
func Name(rt *metadata.Runtime, pallet, call string, arguments []byte) (Named, error) {
	c, err := rt.Call(pallet, call)
	if err != nil {
		return Named{}, err
	}
	shape, err := rt.Shape(c, arguments)
	if err != nil {
		return Named{}, fmt.Errorf("the arguments of %s.%s: %w", pallet, call, err)
	}
	return Named{pallet, call, arguments, shape}, nil
}

// Call returns the bytes of the call in a runtime, with its indices there. The error wraps metadata.ErrUnknown if the runtime does
// not have it, and ErrShape if the same arguments mean something else there.
func (n Named) Call(rt *metadata.Runtime) ([]byte, error) {
	c, err := rt.Call(n.Pallet, n.Name)
	if err != nil {
		return nil, err
	}
	if shape, err := rt.Shape(c, n.Arguments); err != nil || shape != n.Shape {
		return nil, fmt.Errorf("%s.%s %w: it is held until it is cancelled, and sent anew with new arguments", n.Pallet, n.Name, ErrShape)
	}
	return append(c.Index[:], n.Arguments...), nil
}

// Data returns the bytes in which it is stored. Two calls are the same if these are.
func (n Named) Data() []byte {
	b := scale.AppendText(scale.AppendText([]byte{namedVersion}, n.Pallet), n.Name)
	return append(scale.AppendBlob(b, n.Arguments), n.Shape[:]...)
}

// ParseNamed is the inverse of Data. The error wraps scale.ErrMalformed.
func ParseNamed(data []byte) (Named, error) {
	d := scale.NewDecoder(data)
	if v := d.Byte(); v != namedVersion {
		d.Fail("a call is stored in the form %d", v)
	}
	n := Named{Pallet: d.Text(), Name: d.Text(), Arguments: slices.Clone(d.Blob())}
	copy(n.Shape[:], d.Bytes(len(n.Shape)))
	return n, d.Done()
}
