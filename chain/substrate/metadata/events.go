package metadata

import (
	"fmt"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// Event is what has happened in a block.
type Event struct {
	// Extrinsic is the place in the block of the extrinsic that it belongs to; negative: it belongs to none.
	Extrinsic    int
	Pallet, Name string
	// Data are its fields. They are decoded when they are asked for, since most events are of others: see EventFields.
	Data []byte
	of   *variant
}

// eventTypes is where the events are, and what they are made of.
type eventTypes struct {
	phase, event TypeID
	topics       TypeID
	why          error // why they cannot be read
}

func (rt *Runtime) findEvents() eventTypes {
	fail := func(err error) eventTypes { return eventTypes{why: err} }
	s, err := rt.Storage("System", "Events")
	if err != nil {
		return fail(err)
	}
	list := &rt.types[s.Value]
	if list.form != sequence {
		return fail(fmt.Errorf("%w list of events", ErrUnknown))
	}
	found := map[string]TypeID{}
	for _, f := range rt.types[list.of].fields {
		found[f.name] = f.of
	}
	e := eventTypes{phase: found["phase"], event: found["event"], topics: found["topics"]}
	if len(found) != 3 || rt.types[e.phase].form != enum || rt.types[e.event].form != enum {
		return fail(fmt.Errorf("%w events of a phase, an event and topics", ErrUnknown))
	}
	for _, v := range rt.types[e.event].variants {
		if len(v.fields) != 1 || rt.types[v.fields[0].of].form != enum {
			return fail(fmt.Errorf("%w enum of the events of %s", ErrUnknown, v.name))
		}
	}
	return e
}

// Events decodes what the storage System.Events has after a block. Bytes of a block belong to the runtime in the state of its
// parent (Z13). The error wraps scale.ErrMalformed, or ErrUnknown if the runtime has no events.
func (rt *Runtime) Events(b []byte) ([]Event, error) {
	if rt.events.why != nil {
		return nil, rt.events.why
	}
	d := scale.NewDecoder(b)
	n := d.Length(4)
	all := make([]Event, 0, n)
	for ; n > 0 && d.Err() == nil; n-- {
		all = append(all, rt.event(b, d))
	}
	return all, d.Done()
}

func (rt *Runtime) event(b []byte, d *scale.Decoder) Event {
	e := Event{Extrinsic: -1}
	at := d.Offset()
	rt.Skip(rt.events.phase, d)
	if d.Err() != nil {
		return e
	}
	if v := rt.types[rt.events.phase].variant(b[at]); v.name == "ApplyExtrinsic" && d.Offset() == at+5 {
		e.Extrinsic = int(u32(b[at+1:]))
	}
	pallet := rt.types[rt.events.event].variant(d.Byte())
	if pallet == nil {
		d.Fail("there is no pallet with such an event")
		return e
	}
	if e.of = rt.types[pallet.fields[0].of].variant(d.Byte()); e.of == nil {
		d.Fail("the pallet %s has no such event", pallet.name)
		return e
	}
	e.Pallet, e.Name = pallet.name, e.of.name
	at = d.Offset()
	for _, f := range e.of.fields {
		rt.Skip(f.of, d)
	}
	e.Data = b[at:d.Offset()]
	rt.Skip(rt.events.topics, d)
	return e
}

// EventFields decodes the fields of an event: Fields, or []any if they have no names.
func (rt *Runtime) EventFields(e Event) (any, error) {
	if e.of == nil {
		return nil, fmt.Errorf("%w such event", ErrUnknown)
	}
	d := scale.NewDecoder(e.Data)
	if len(e.of.fields) == 1 && e.of.fields[0].name == "" {
		v := []any{rt.read(e.of.fields[0].of, d)}
		return v, d.Done()
	}
	v := rt.readFields(e.of.fields, d)
	return v, d.Done()
}

// ErrorName returns the name of a decoded DispatchError: "Balances.InsufficientBalance", "Token.BelowMinimum", "BadOrigin". What it
// does not know it prints.
func (rt *Runtime) ErrorName(v any) string {
	e, is := v.(Variant)
	if !is {
		return Print(v)
	}
	if fields, is := e.Value.(Fields); is && e.Name == "Module" {
		index, _ := fields.Get("index").(uint64)
		var code uint64
		switch c := fields.Get("error").(type) {
		case uint64:
			code = c
		case Bytes:
			if len(c) > 0 {
				code = uint64(c[0])
			}
		}
		if index < 256 && code < 256 {
			if name := rt.ErrorAt(byte(index), byte(code)); name != "" {
				return name
			}
		}
		return fmt.Sprintf("Module(%d.%d)", index, code)
	}
	switch inner := e.Value.(type) {
	case nil:
		return e.Name
	case Variant:
		return e.Name + "." + inner.Name
	}
	return Print(v)
}
