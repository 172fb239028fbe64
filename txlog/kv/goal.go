package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// op is one operation of a goal.
type op struct {
	kind   string
	key    string
	value  string // with put and cas
	expect string // with cas and check; no value: the key must not be there
	by     int64  // with add
}

// The fields of each operation.
var allowed = map[string][]string{
	"put":    {"op", "key", "value", "base64"},
	"delete": {"op", "key"},
	"cas":    {"op", "key", "value", "base64", "expect", "expect_base64", "absent"},
	"check":  {"op", "key", "expect", "expect_base64", "absent"},
	"add":    {"op", "key", "by"},
}

const operations = "put, delete, cas, check or add"

// parseGoal reads a goal: one operation, or a list of them.
func parseGoal(goal []byte) (ops []op, alone bool, err error) {
	if !utf8.Valid(goal) {
		return nil, false, bad("it is no text in UTF-8")
	}
	of, err := object(goal)
	if err != nil {
		return nil, false, err
	}
	list := of.get("ops")
	if list == nil {
		o, err := parseOp(of)
		return []op{o}, true, err
	}
	if len(of) > 1 {
		return nil, false, bad(`beside "ops" there is nothing else`)
	}
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil || len(all) == 0 {
		return nil, false, bad(`"ops" is a list of operations`)
	}
	if len(all) > mostOps {
		return nil, false, limit(strconv.Itoa(len(all)) + " operations, of " + strconv.Itoa(mostOps) + " at most in one goal")
	}
	for i, raw := range all {
		of, err := object(raw)
		if err != nil {
			return nil, false, at(err, i, false)
		}
		o, err := parseOp(of)
		if err != nil {
			return nil, false, at(err, i, false)
		}
		ops = append(ops, o)
	}
	return ops, false, nil
}

func parseOp(of fields) (o op, err error) {
	if o.kind = text(of.get("op")); o.kind == "" {
		return o, bad(`"op" is missing: it is ` + operations)
	}
	known, is := allowed[o.kind]
	if !is {
		return o, bad("there is no operation " + strconv.Quote(o.kind) + ": it is " + operations)
	}
	var strange []string // by name, since a goal has one fault on every node
	for _, f := range of {
		if !slices.Contains(known, f.name) {
			strange = append(strange, f.name)
		}
	}
	if len(strange) > 0 {
		return o, bad(o.kind + " has no field " + strconv.Quote(slices.Min(strange)) + ": it has " + strings.Join(known, ", "))
	}
	if of.get("key") == nil {
		return o, bad(`"key" is missing: ` + o.kind + ` names one, such as "key":"flags/dark"`)
	}
	if o.key = text(of.get("key")); !isKey([]byte(o.key)) {
		return o, bad(`"key" is a text of 1 to ` + strconv.Itoa(mostKey) + " bytes, without control characters")
	}
	if o.kind == "put" || o.kind == "cas" {
		if o.value, err = valueOf(of, "value", "base64"); err != nil {
			return o, err
		}
		if o.value == "" {
			return o, bad(o.kind + ` has a "value", or "base64" for bytes`)
		}
	}
	if o.kind == "cas" || o.kind == "check" {
		if o.expect, err = expected(of, o.kind); err != nil {
			return o, err
		}
	}
	o.by = 1
	if by := of.get("by"); by != nil && json.Unmarshal(by, &o.by) != nil || string(by) == "null" {
		return o, bad(`"by" is a whole number`)
	}
	return o, nil
}

// expected returns the value that must be there, or none.
func expected(of fields, kind string) (string, error) {
	expect, err := valueOf(of, "expect", "expect_base64")
	if err != nil {
		return "", err
	}
	absent := of.get("absent")
	switch {
	case absent != nil && string(absent) != "true":
		return "", bad(`"absent" is true, or not there`)
	case (absent != nil) == (expect != ""):
		return "", bad(kind + ` has either "expect", the value that must be there, or "absent": true`)
	}
	return expect, nil
}

// valueOf returns the value of one of two fields: one of JSON, and one of bytes.
func valueOf(of fields, asJSON, asBytes string) (string, error) {
	raw, encoded := of.get(asJSON), of.get(asBytes)
	switch {
	case raw != nil && encoded != nil:
		return "", bad(strconv.Quote(asJSON) + " and " + strconv.Quote(asBytes) + " are two values: one of them")
	case raw != nil:
		return jsonValue(raw)
	case encoded == nil:
		return "", nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text(encoded))
	if err != nil || !bytes.HasPrefix(encoded, []byte(`"`)) {
		return "", bad(strconv.Quote(asBytes) + " is a text in base64")
	}
	return fitting(string(isBytes) + string(b))
}

func (f fields) sortedNames() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].name
	}
	slices.Sort(names)
	return names
}
