package ontology

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// The keys of the store: a clause by its predicate and rank, a predicate that exists, an operator by its class and name, a flag by its name.
const (
	clauseKey = 'c'
	predKey   = 'p'
	opKey     = 'o'
	flagKey   = 'f'
)

// MostName is how long the name of a predicate, an operator or a flag may be, in bytes.
const MostName = 255

// Exists is the value of a predicate's key.
const exists = "+"

// mostKey is how long the key of a clause may be, which is the longest.
const mostKey = 1 + 1 + MostName + 1 + 8

func appendName(key []byte, kind byte, n Name) []byte {
	s := n.Atom.Name()
	key = append(append(key, kind, byte(len(s))), s...)
	return append(key, byte(n.Arity))
}

func nameKey(kind byte, n Name) string {
	var room [mostKey]byte
	return string(appendName(room[:0], kind, n))
}

func rankKey(n Name, rank int64) string {
	var room [mostKey]byte
	return string(binary.BigEndian.AppendUint64(appendName(room[:0], clauseKey, n), uint64(rank)^1<<63))
}

func opKeyOf(k syntax.OpKey) []byte { return append([]byte{opKey, byte(k.Class)}, k.Name.Name()...) }

// cutText cuts a predicate's name off a key, and its arity.
func cutText(key []byte) (text, rest []byte, arity int, is bool) {
	if len(key) < 2 {
		return nil, nil, 0, false
	}
	end := 2 + int(key[1]) // in an int: a byte would begin anew for the longest names
	if len(key) <= end {
		return nil, nil, 0, false
	}
	return key[2:end], key[end+1:], int(key[end]), utf8.Valid(key[2:end])
}

// cutName cuts a predicate's name off a key; the zero Name if it has none.
func cutName(key []byte) (n Name, rest []byte) {
	text, rest, arity, is := cutText(key)
	if !is {
		return n, nil
	}
	return Name{term.NewAtom(string(text)), arity}, rest
}

func rankOf(rest []byte) int64 { return int64(binary.BigEndian.Uint64(rest) ^ 1<<63) }

// IsKey reports whether bytes are a key.
func IsKey(key []byte) bool {
	if len(key) < 2 {
		return false
	}
	switch key[0] {
	case clauseKey:
		_, rest, _, is := cutText(key)
		return is && len(rest) == 8
	case predKey:
		_, rest, _, is := cutText(key)
		return is && len(rest) == 0
	case opKey:
		return key[1] <= byte(syntax.Postfix) && len(key) <= 2+MostName && utf8.Valid(key[2:])
	case flagKey:
		return len(key) <= 1+MostName && utf8.Valid(key[1:])
	}
	return false
}

// IsValue reports whether bytes are a value of some key: of a clause, or a text of an operator, a flag or a predicate.
func IsValue(value []byte) bool {
	if value[0] == '+' {
		return len(value) <= 1+MostName && utf8.Valid(value)
	}
	return term.Valid(value)
}

// opValue writes an operator. One of priority 0 takes that of the standard out.
func opValue(op syntax.Op) string { return "+" + strconv.Itoa(op.Priority) + " " + op.Type }

func parseOp(value string) (op syntax.Op, is bool) {
	priority, kind, _ := strings.Cut(strings.TrimPrefix(value, "+"), " ")
	n, err := strconv.Atoi(priority)
	if _, known := syntax.ClassOf(kind); err != nil || !known || n <= 0 || n > 1200 {
		return syntax.Op{}, err == nil && n == 0
	}
	return syntax.Op{Priority: n, Type: kind}, true
}

// Key is a key of the store, as a person reads it.
type Key struct {
	Name Name // of a clause, or of a predicate that exists

	kind byte
	text string
}

// ReadKey reads a key that is one.
func ReadKey(key []byte) Key {
	k := Key{kind: key[0]}
	switch key[0] {
	case clauseKey, predKey:
		k.Name, _ = cutName(key)
	case opKey:
		k.text = string(key[2:])
	default:
		k.text = string(key[1:])
	}
	return k
}

// IsClause reports whether it is of a clause.
func (k Key) IsClause() bool { return k.kind == clauseKey }

// Text says what a value of the key means, if it is of no clause.
func (k Key) Text(value string) string {
	value = strings.TrimPrefix(value, "+")
	switch k.kind {
	case predKey:
		return ":- dynamic " + syntax.Quote(k.Name.Atom.Name()) + "/" + strconv.Itoa(k.Name.Arity) + "."
	case opKey:
		priority, kind, _ := strings.Cut(value, " ")
		if kind == "" {
			kind = "xfx"
		}
		return ":- op(" + priority + ", " + kind + ", " + syntax.Quote(k.text) + ")."
	}
	return ":- set_prolog_flag(" + syntax.Quote(k.text) + ", " + syntax.Quote(value) + ")."
}
