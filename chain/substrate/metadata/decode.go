package metadata

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// ErrMetadata is in the error of Decode.
var ErrMetadata = errors.New("the runtime's metadata cannot be read")

// maxBytes is how large metadata may be; the largest has some 700 kB.
const maxBytes = 16 << 20

// Decode reads metadata that begins with "meta" and its version: 14, 15 or 16. What is returned never changes, and is safe for
// concurrent use. The error wraps ErrMetadata. It takes some milliseconds.
func Decode(b []byte) (*Runtime, error) {
	if len(b) > maxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, and %d are the most", ErrMetadata, len(b), maxBytes)
	}
	r := &reader{Decoder: scale.NewDecoder(b)}
	if string(r.Bytes(4)) != "meta" {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrMetadata, "meta")
	}
	rt := &Runtime{version: int(r.Byte())}
	switch rt.version {
	case 14:
		r.version14(rt)
	case 15, 16:
		r.version15(rt)
	default:
		return nil, fmt.Errorf("%w: it has version %d, and conch reads 14, 15 and 16", ErrMetadata, rt.version)
	}
	if r.known(rt.types); r.Done() != nil {
		return nil, fmt.Errorf("%w: %w", ErrMetadata, r.Err())
	}
	measure(rt.types)
	if err := rt.index(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMetadata, err)
	}
	return rt, nil
}

func (r *reader) version14(rt *Runtime) {
	rt.types = r.types()
	r.pallets(rt)
	of := r.typeID()
	rt.versions = []byte{r.Byte()}
	r.extensions(rt)
	r.typeID() // of the runtime itself
	if r.Err() != nil || int(of) >= len(rt.types) {
		return // known says so
	}
	found := 0
	for _, p := range rt.types[of].params { // of UncheckedExtrinsic
		switch p.name {
		case "Address":
			rt.address, found = p.of, found|1
		case "Signature":
			rt.signature, found = p.of, found|2
		}
	}
	if found != 3 {
		r.Fail("the type of extrinsics does not name those of addresses and signatures")
	}
}

func (r *reader) version15(rt *Runtime) {
	rt.types = r.types()
	r.pallets(rt)
	if rt.version == 15 {
		rt.versions = []byte{r.Byte()}
		rt.address, _, rt.signature = r.typeID(), r.typeID(), r.typeID()
		r.typeID() // of the extensions together
		r.extensions(rt)
		r.typeID() // of the runtime itself
	} else {
		r.list(1, func() { rt.versions = append(rt.versions, r.Byte()) })
		rt.address, _, rt.signature = r.typeID(), r.typeID(), r.typeID()
		first := r.extensionsByVersion()
		r.extensions(rt)
		r.choose(rt, first)
	}
	r.apis(rt.version)
	for range 3 { // the outer enums of calls, events and errors
		r.typeID()
	}
	r.list(2, func() { // what the runtime adds of its own
		r.Blob()
		r.typeID()
		r.Blob()
	})
}

func (r *reader) extensions(rt *Runtime) {
	r.list(3, func() {
		rt.extensions = append(rt.extensions, Extension{Name: r.Text(), Value: r.typeID(), Implicit: r.typeID()})
	})
}

// extensionsByVersion returns the places of the extensions of version 0.
func (r *reader) extensionsByVersion() (first []uint64) {
	r.list(2, func() {
		version := r.Byte()
		r.list(1, func() {
			if at := r.Compact(); version == 0 {
				first = append(first, at)
			}
		})
	})
	return first
}

// choose keeps the extensions of version 0, in its order: extrinsics of version 4 have these, whatever else is listed (Z15).
func (r *reader) choose(rt *Runtime, places []uint64) {
	all := rt.extensions
	rt.extensions = nil
	for _, at := range places {
		if at >= uint64(len(all)) {
			r.Fail("version 0 has the extension %d of %d", at, len(all))
			return
		}
		rt.extensions = append(rt.extensions, all[at])
	}
}

// apis skips the runtime's interfaces, which are called by their names.
func (r *reader) apis(version int) {
	r.list(3, func() {
		r.Blob()
		r.list(4, func() {
			r.Blob()
			r.function(version)
		})
		r.docs()
		if version == 16 {
			r.Compact() // its version
			r.deprecation()
		}
	})
}

// function skips what follows the name of a function.
func (r *reader) function(version int) {
	r.list(2, func() { r.Blob(); r.typeID() })
	r.typeID()
	r.docs()
	if version == 16 {
		r.deprecation()
	}
}

// deprecation skips what version 16 says of an outdated item.
func (r *reader) deprecation() {
	switch kind := r.Byte(); kind {
	case 0, 1:
	case 2:
		r.Blob()
		if r.Option() {
			r.Blob()
		}
	default:
		r.Fail("a deprecation has the kind %d", kind)
	}
}

// deprecations skips what version 16 says of outdated variants.
func (r *reader) deprecations() {
	r.list(2, func() {
		r.Byte()
		r.deprecation()
	})
}
