package evm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pattern"
)

// ArgumentError says which argument of a call cannot be encoded, and why.
type ArgumentError struct {
	Path string // such as [1].amount; of the list itself it is empty
	Text string // goes on after the name
}

func (e *ArgumentError) Error() string { return strings.TrimSpace(e.Path + " " + e.Text) }

// EncodeCall returns the data of a call to a function with arguments. The function is its signature, with or without names: such as
// transfer(address,uint256), or pay((address to, uint256 amount)[] list). Of the arguments, each a JSON value, a number is a text of decimal
// digits, or a number that any program can read; bytes are hexadecimal digits after 0x; a tuple is an array, or an object with its names.
// The error is an [*ArgumentError] if the function can be read.
func EncodeCall(function string, args []json.RawMessage) ([]byte, error) {
	f, err := parseFunction(function)
	if err != nil {
		return nil, err
	}
	signature := f.name + f.String()
	if len(args) != len(f.parts) {
		return nil, &ArgumentError{"", fmt.Sprintf("has %d elements, and %s takes %d", len(args), signature, len(f.parts))}
	}
	body, err := encodeParts(f.parts, args, f.pathOf)
	if err != nil {
		return nil, err
	}
	return append(crypto.Keccak256([]byte(signature))[:len(Selector{})], body...), nil
}

// argument is the type of an argument.
type argument struct {
	name  string // the caller's; may be empty
	kind  argumentKind
	leaf  leaf       // of aLeaf
	of    *argument  // of anArray
	size  int        // of anArray; below 0: any
	parts []argument // of aTuple
}

type argumentKind uint8

const (
	aLeaf argumentKind = iota
	anArray
	aTuple
)

// String returns the type as it is hashed.
func (a argument) String() string {
	switch {
	case a.kind == aLeaf:
		return a.leaf.name
	case a.kind == anArray && a.size < 0:
		return a.of.String() + "[]"
	case a.kind == anArray:
		return fmt.Sprintf("%v[%d]", a.of, a.size)
	}
	parts := make([]string, len(a.parts))
	for i, one := range a.parts {
		parts[i] = one.String()
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// isDynamic reports whether a value is encoded behind the others, and an offset in its place.
func (a argument) isDynamic() bool {
	switch a.kind {
	case aLeaf:
		return a.leaf.packed.T == abi.StringTy || a.leaf.packed.T == abi.BytesTy
	case anArray:
		return a.size < 0 || a.of.isDynamic()
	}
	return slices.ContainsFunc(a.parts, argument.isDynamic)
}

// encode encodes a value. path names it for people.
func (a argument) encode(raw json.RawMessage, path string) ([]byte, error) {
	switch a.kind {
	case aLeaf:
		return a.encodeLeaf(raw, path)
	case aTuple:
		values, err := a.values(raw, path)
		if err != nil {
			return nil, err
		}
		return encodeParts(a.parts, values, func(i int) string { return path + a.pathOf(i) })
	}
	var values []json.RawMessage
	if !isList(raw) || json.Unmarshal(raw, &values) != nil {
		return nil, &ArgumentError{path, fmt.Sprintf("is %s, and has to be an array of %v", what(raw), a.of)}
	}
	if a.size >= 0 && len(values) != a.size {
		return nil, &ArgumentError{path, fmt.Sprintf("has %d elements, and has to have %d", len(values), a.size)}
	}
	body, err := encodeParts(slices.Repeat([]argument{*a.of}, len(values)), values, func(i int) string { return fmt.Sprintf("%s[%d]", path, i) })
	if err != nil || a.size >= 0 {
		return body, err
	}
	return append(word(big.NewInt(int64(len(values)))), body...), nil
}

// encodeParts encodes values one after the other, with those of any length behind the others.
func encodeParts(types []argument, values []json.RawMessage, path func(int) string) ([]byte, error) {
	bodies, heads := make([][]byte, len(types)), 0
	for i, one := range types {
		body, err := one.encode(values[i], path(i))
		if err != nil {
			return nil, err
		}
		if bodies[i] = body; one.isDynamic() {
			heads += wordSize
		} else {
			heads += len(body)
		}
	}
	head, tail := make([]byte, 0, heads), []byte{}
	for i, one := range types {
		if !one.isDynamic() {
			head = append(head, bodies[i]...)
			continue
		}
		head = append(head, word(big.NewInt(int64(heads+len(tail))))...)
		tail = append(tail, bodies[i]...)
	}
	return append(head, tail...), nil
}

const wordSize = 32

func word(n *big.Int) []byte { return n.FillBytes(make([]byte, wordSize)) }

// values returns those of a tuple's parts, in their order.
func (a argument) values(raw json.RawMessage, path string) (values []json.RawMessage, err error) {
	if isList(raw) && json.Unmarshal(raw, &values) == nil {
		if len(values) != len(a.parts) {
			return nil, &ArgumentError{path, fmt.Sprintf("has %d elements, and %v has %d", len(values), a, len(a.parts))}
		}
		return values, nil
	}
	named, twice, is := members(raw)
	switch {
	case !is:
		return nil, &ArgumentError{path, fmt.Sprintf("is %s, and has to be an array with the parts of %v, or an object with their names", what(raw), a)}
	case twice != "":
		return nil, &ArgumentError{path, fmt.Sprintf("has %.60q twice", twice)}
	}
	for _, one := range a.parts {
		value, has := named[one.name]
		if one.name == "" {
			return nil, &ArgumentError{path, "is an object, and the function does not name the parts of it: write an array, or the names after the types"}
		}
		if !has {
			return nil, &ArgumentError{path, fmt.Sprintf("has no %q", one.name)}
		}
		values = append(values, value)
		delete(named, one.name)
	}
	for name := range named {
		return nil, &ArgumentError{path, fmt.Sprintf("has %.60q, which %v does not have", name, a)}
	}
	return values, nil
}

// members reads an object, and reports a name that it has twice.
func members(raw json.RawMessage) (named map[string]json.RawMessage, twice string, is bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, "", false
	}
	named = map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil, "", false
		}
		text, _ := name.(string)
		if _, has := named[text]; has {
			twice = text
		}
		named[text] = value
	}
	return named, twice, true
}

// pathOf names a part of a tuple.
func (a argument) pathOf(i int) string {
	if name := a.parts[i].name; name != "" {
		return fmt.Sprintf("[%d] (%s)", i, name)
	}
	return fmt.Sprintf("[%d]", i)
}

// encodeLeaf encodes a value that has no parts, by go-ethereum: a number of any size as one of 256 bits, and bytes of any number as 32.
func (a argument) encodeLeaf(raw json.RawMessage, path string) ([]byte, error) {
	value, err := a.leaf.read(raw)
	if err != nil {
		return nil, &ArgumentError{path, err.Error()}
	}
	body, err := abi.Arguments{{Type: a.leaf.packed}}.Pack(value)
	if err != nil { // cannot happen with what read returns
		return nil, &ArgumentError{path, "cannot be encoded: " + err.Error()}
	}
	if a.isDynamic() { // behind an offset
		body = body[wordSize:]
	}
	return body, nil
}

// leaf is a type without parts.
type leaf struct {
	name   string // as it is hashed
	size   int    // bits of a number, or bytes; 0: any
	packed abi.Type
}

// read reads a value as go-ethereum wants it. The error goes on after its name.
func (l leaf) read(raw json.RawMessage) (any, error) {
	var text string
	isText := len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	switch l.packed.T {
	case abi.BoolTy:
		if word := strings.Trim(string(raw), `"`); word == "true" || word == "false" {
			return word == "true", nil
		}
		return nil, fmt.Errorf("is %s, and has to be true or false", what(raw))
	case abi.IntTy, abi.UintTy:
		return l.readNumber(raw, text, isText)
	}
	if !isText {
		return nil, fmt.Errorf("is %s, and has to be a text, for %s", what(raw), l.name)
	}
	switch l.packed.T {
	case abi.AddressTy:
		address, err := ParseAddress(text)
		return common.BytesToAddress([]byte(address)), err
	case abi.StringTy:
		return text, nil
	}
	data, err := chain.ParseHex(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("is %w", err)
	case !strings.HasPrefix(text, "0x"):
		return nil, errors.New("does not begin with 0x: write bytes as hexadecimal digits after 0x")
	case l.size == 0:
		return data, nil
	case len(data) != l.size:
		return nil, fmt.Errorf("has %d bytes, and %s has %d", len(data), l.name, l.size)
	}
	var fixed [wordSize]byte
	copy(fixed[:], data)
	return fixed, nil
}

var (
	wholeNumber = pattern.Of(`^-?[0-9]{1,78}$`)
	exactBelow  = big.NewInt(1 << 53) // a larger number some programs round
)

func (l leaf) readNumber(raw json.RawMessage, text string, isText bool) (*big.Int, error) {
	if !isText {
		text = string(raw)
	}
	if !wholeNumber().MatchString(text) {
		return nil, fmt.Errorf("is %s, and has to be a text of decimal digits, for %s", what(raw), l.name)
	}
	n, _ := new(big.Int).SetString(text, 10)
	if !isText && n.CmpAbs(exactBelow) >= 0 {
		return nil, fmt.Errorf("is a number that some programs round: write it in quotation marks")
	}
	least, beyond := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(l.size))
	if l.packed.T == abi.IntTy {
		beyond.Rsh(beyond, 1)
		least.Neg(beyond)
	}
	if n.Cmp(least) < 0 || n.Cmp(beyond) >= 0 {
		return nil, fmt.Errorf("is %.90s, which %s cannot have", text, l.name)
	}
	return n, nil
}

// what says what a JSON value is.
func what(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return fmt.Sprintf("%.60s", raw)
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }
