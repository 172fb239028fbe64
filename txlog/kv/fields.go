package kv

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// fields are those of an object, as they came.
type fields []field

type field struct {
	name string
	raw  json.RawMessage
}

const mostFields = 16 // no goal and no query has as many

// get returns a field; nil: it is not there.
func (f fields) get(name string) json.RawMessage {
	for i := range f {
		if f[i].name == name {
			return f[i].raw
		}
	}
	return nil
}

// object reads the fields of an object. Unlike encoding/json it takes each field once, and by its very name. Each goal of a busy log
// is read here, so its parts are found in place.
func object(raw []byte) (fields, error) {
	rest := space(raw)
	if !json.Valid(raw) || rest[0] != '{' {
		return nil, noObject(raw)
	}
	found := make(fields, 0, 4)
	for rest = space(rest[1:]); rest[0] != '}'; {
		var part json.RawMessage
		part, rest = cutValue(rest)
		name := text(part)
		switch {
		case found.get(name) != nil:
			return nil, bad("the field " + strconv.Quote(name) + " is there twice")
		case len(found) == mostFields:
			return nil, bad("an object has " + strconv.Itoa(mostFields) + " fields at most")
		}
		part, rest = cutValue(space(space(rest)[1:])) // after the colon
		found = append(found, field{name, part})
		if rest = space(rest); rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return found, nil
}

// noObject says why something is no object.
func noObject(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return bad(`it is no object of JSON, such as {"op":"put","key":"flags/dark","value":true}`)
	}
	for dec.More() {
		var value json.RawMessage
		token, err := dec.Token()
		if _, is := token.(string); err != nil || !is || dec.Decode(&value) != nil {
			return bad("it is no JSON, from byte " + strconv.FormatInt(dec.InputOffset(), 10))
		}
	}
	if _, err := dec.Token(); err != nil {
		return bad("the object has no end")
	}
	return bad("something follows after the object")
}

func space(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// cutValue cuts the first value off what is known to be JSON.
func cutValue(b []byte) (value, rest []byte) {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case depth == 0 && strings.IndexByte(",:]} \t\r\n", c) >= 0: // after a number, or a word
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// plain returns the inside of a text of JSON that is its own one form: nothing in it has to be escaped.
func plain(raw []byte) (inside []byte, is bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	inside = raw[1 : len(raw)-1]
	for _, c := range inside {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return inside, true
}

// text returns a text of JSON; what is none is empty.
func text(raw json.RawMessage) (s string) {
	if inside, is := plain(raw); is {
		return string(inside)
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
