package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/ss58"
)

// ErrValue is in the errors of encoding: a value is not of its type. The error names the place.
var ErrValue = errors.New("is not of its type")

// ParseJSON reads what Print has written, or a person.
func ParseJSON(text []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the JSON", ErrValue)
	}
	return v, nil
}

// Encode appends a value of a type: one that Value has decoded, or one that ParseJSON has read. Accounts may be addresses (SS58) of
// the runtime's network. The error wraps ErrValue.
func (rt *Runtime) Encode(b []byte, id TypeID, v any) ([]byte, error) {
	w := writer{rt: rt, b: b}
	w.write(id, v, 0)
	return w.b, w.failed("value")
}

// EncodeArguments encodes the arguments of a call: an object of them by name, or a list in their order.
func (rt *Runtime) EncodeArguments(c Call, v any) ([]byte, error) {
	w := writer{rt: rt}
	fields := make([]field, 0, len(c.Arguments))
	for _, a := range c.Arguments {
		fields = append(fields, field{a.Name, a.Type})
	}
	w.all(fields, v, 0)
	return w.b, w.failed(c.Pallet + "." + c.Name)
}

// writer has one error, and the place that it is of, which is found on the way back.
type writer struct {
	rt    *Runtime
	b     []byte
	err   error
	place []string
}

func (w *writer) failed(what string) error {
	if w.err == nil {
		return nil
	}
	for _, name := range slices.Backward(w.place) {
		what += "." + name
	}
	return fmt.Errorf("%s %w: %w", what, ErrValue, w.err)
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// at writes a part, and adds its name to the place of an error.
func (w *writer) at(name string, id TypeID, v any, depth int) {
	w.write(id, v, depth+1)
	if w.err != nil {
		w.place = append(w.place, name)
	}
}

func (w *writer) write(id TypeID, v any, depth int) {
	if depth > scale.MaxDepth || len(w.b) > maxBytes {
		w.fail("it nests more than %d deep, or is too large", scale.MaxDepth)
	}
	if w.err != nil {
		return
	}
	t := &w.rt.types[id]
	switch t.form {
	case composite:
		w.composite(t, v, depth)
	case tuple:
		w.all(t.fields, v, depth)
	case enum:
		w.enum(t, v, depth)
	case sequence:
		w.list(t.of, -1, v, depth)
	case array:
		w.list(t.of, t.count, v, depth)
	case primitive:
		w.primitive(t.primitive, v)
	case compact:
		w.compact(t.of, v)
	case bits:
		w.bits(t, v)
	}
}

func (w *writer) composite(t *typ, v any, depth int) {
	if text, is := v.(string); is && t.name() == "AccountId32" && !strings.HasPrefix(text, "0x") {
		account, err := w.rt.account(text)
		if err != nil {
			w.fail("%q %w", text, err)
		}
		w.b = append(w.b, account...)
		return
	}
	w.all(t.fields, v, depth)
}

// account reads an address of the runtime's network, if it says which that is.
func (rt *Runtime) account(text string) ([]byte, error) {
	account, network, err := ss58.Decode(text)
	if err != nil {
		return nil, err
	}
	c, err := rt.Constant("System", "SS58Prefix")
	if err != nil {
		return account, nil //nolint:nilerr // then each network is as good as another
	}
	if of, err := rt.Value(c.Type, c.Value); err == nil && of != uint64(network) {
		if ours, is := of.(uint64); is {
			return ss58.DecodeFor(text, uint16(ours))
		}
	}
	return account, nil
}

// all writes the fields of a structure, or the parts of a tuple.
func (w *writer) all(fields []field, v any, depth int) {
	switch {
	case len(fields) == 0:
		if list, is := v.([]any); v != nil && (!is || len(list) > 0) {
			if object, is := v.(map[string]any); !is || len(object) > 0 {
				w.fail("there is a value where none belongs")
			}
		}
		return
	case fields[0].name == "" && len(fields) == 1:
		if list, is := v.([]any); is && len(list) == 1 && !w.isList(fields[0].of) {
			v = list[0]
		}
		w.at("0", fields[0].of, v, depth)
		return
	}
	switch v := v.(type) {
	case []any:
		if len(v) != len(fields) {
			w.fail("it has %d parts, and not %d", len(v), len(fields))
			return
		}
		for i, f := range fields {
			w.at(orNumber(f.name, i), f.of, v[i], depth)
		}
	case Fields:
		object := map[string]any{}
		for _, f := range v {
			object[f.Name] = f.Value
		}
		w.object(fields, object, depth)
	case map[string]any:
		w.object(fields, v, depth)
	default:
		w.fail("it has to be an object with %s", names(fields))
	}
}

// isList reports whether a type is written as a list, behind structures of one field.
func (w *writer) isList(id TypeID) bool {
	for range 16 {
		t := &w.rt.types[id]
		if t.form != composite || len(t.fields) != 1 || t.fields[0].name != "" {
			return t.form == sequence || t.form == array || t.form == tuple || t.form == composite
		}
		id = t.fields[0].of
	}
	return false
}

func (w *writer) object(fields []field, v map[string]any, depth int) {
	for _, f := range fields {
		value, there := v[f.name]
		if !there && !w.rt.IsOption(f.of) {
			w.fail("%q is missing; it has %s", f.name, names(fields))
			return
		}
		w.at(f.name, f.of, value, depth)
	}
	if w.err == nil && len(v) > len(fields) {
		w.fail("it has %d names, and only %s belong there", len(v), names(fields))
		return
	}
	for name := range v {
		if w.err == nil && !has(fields, name) {
			w.fail("%q does not belong there; it has %s", name, names(fields))
		}
	}
}

func has(fields []field, name string) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
}

func orNumber(name string, at int) string {
	if name == "" {
		return fmt.Sprint(at)
	}
	return name
}

func names(fields []field) string {
	var all []string
	for i, f := range fields {
		all = append(all, orNumber(f.name, i))
	}
	return strings.Join(all, ", ")
}

// enum writes a variant: its name, or an object with its name and what is in it. An Option is null, or what is in it.
func (w *writer) enum(t *typ, v any, depth int) {
	name, value := "", any(nil)
	switch v := v.(type) {
	case Variant:
		name, value = v.Name, v.Value
	case string:
		name = v
	case Fields:
		if len(v) == 1 {
			name, value = v[0].Name, v[0].Value
		}
	case map[string]any:
		for one, of := range v {
			if len(v) == 1 {
				name, value = one, of
			}
		}
	}
	found := t.named(name)
	if text, is := v.(string); is && found == nil && t.name() == "MultiAddress" {
		found, value = t.named("Id"), text // an address alone
	}
	if t.path == "Option" {
		found, value = w.option(t, v, found, value)
	}
	if found == nil {
		var all []string
		for i := range min(len(t.variants), 20) {
			all = append(all, t.variants[i].name)
		}
		w.fail("it has to be one of %s", strings.Join(all, ", "))
		return
	}
	w.b = append(w.b, found.index)
	w.all(found.fields, value, depth)
	if w.err != nil && t.path != "Option" {
		w.place = append(w.place, found.name)
	}
}

// option finds None for null, Some for its Variant, and for any other value Some with it.
func (w *writer) option(t *typ, v any, found *variant, value any) (*variant, any) {
	if v == nil {
		return t.named("None"), nil
	}
	if some := t.named("Some"); found == nil || found != some {
		return some, v
	}
	return found, value
}
