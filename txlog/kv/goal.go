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
	fields, err := object(goal)
	if err != nil {
		return nil, false, err
	}
	list, is := fields["ops"]
	if !is {
		o, err := parseOp(fields)
		return []op{o}, true, err
	}
	if len(fields) > 1 {
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
		fields, err := object(raw)
		if err != nil {
			return nil, false, at(err, i, false)
		}
		o, err := parseOp(fields)
		if err != nil {
			return nil, false, at(err, i, false)
		}
		ops = append(ops, o)
	}
	return ops, false, nil
}

func parseOp(fields map[string]json.RawMessage) (o op, err error) {
	if o.kind = text(fields["op"]); o.kind == "" {
		return o, bad(`"op" is missing: it is ` + operations)
	}
	known, is := allowed[o.kind]
	if !is {
		return o, bad("there is no operation " + strconv.Quote(o.kind) + ": it is " + operations)
	}
	var strange []string // by name, since a goal has one fault on every node
	for name := range fields {
		if !slices.Contains(known, name) {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		return o, bad(o.kind + " has no field " + strconv.Quote(slices.Min(strange)) + ": it has " + strings.Join(known, ", "))
	}
	if fields["key"] == nil {
		return o, bad(`"key" is missing: ` + o.kind + ` names one, such as "key":"flags/dark"`)
	}
	if o.key = text(fields["key"]); !isKey([]byte(o.key)) {
		return o, bad(`"key" is a text of 1 to ` + strconv.Itoa(mostKey) + " bytes, without control characters")
	}
	if o.kind == "put" || o.kind == "cas" {
		if o.value, err = valueOf(fields, "value", "base64"); err != nil {
			return o, err
		}
		if o.value == "" {
			return o, bad(o.kind + ` has a "value", or "base64" for bytes`)
		}
	}
	if o.kind == "cas" || o.kind == "check" {
		if o.expect, err = expected(fields, o.kind); err != nil {
			return o, err
		}
	}
	o.by = 1
	if by, is := fields["by"]; is && json.Unmarshal(by, &o.by) != nil || string(by) == "null" {
		return o, bad(`"by" is a whole number`)
	}
	return o, nil
}

// expected returns the value that must be there, or none.
func expected(fields map[string]json.RawMessage, kind string) (string, error) {
	expect, err := valueOf(fields, "expect", "expect_base64")
	if err != nil {
		return "", err
	}
	absent, is := fields["absent"]
	switch {
	case is && string(absent) != "true":
		return "", bad(`"absent" is true, or not there`)
	case is == (expect != ""):
		return "", bad(kind + ` has either "expect", the value that must be there, or "absent": true`)
	}
	return expect, nil
}

// valueOf returns the value of one of two fields: one of JSON, and one of bytes.
func valueOf(fields map[string]json.RawMessage, asJSON, asBytes string) (string, error) {
	raw, is := fields[asJSON]
	encoded, isEncoded := fields[asBytes]
	switch {
	case is && isEncoded:
		return "", bad(strconv.Quote(asJSON) + " and " + strconv.Quote(asBytes) + " are two values: one of them")
	case is:
		return jsonValue(raw)
	case !isEncoded:
		return "", nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text(encoded))
	if err != nil || !bytes.HasPrefix(encoded, []byte(`"`)) {
		return "", bad(strconv.Quote(asBytes) + " is a text in base64")
	}
	return fitting(string(isBytes) + string(b))
}

func sortedNames(fields map[string]json.RawMessage) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
