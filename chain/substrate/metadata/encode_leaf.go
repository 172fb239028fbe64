package metadata

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/conchhq/conch/chain/substrate/scale"
)

func (w *writer) list(of TypeID, count int, v any, depth int) {
	if t := &w.rt.types[of]; t.form == primitive && t.primitive == primU8 {
		if bytes, is := w.bytes(v); is {
			w.sized(len(bytes), count)
			w.b = append(w.b, bytes...)
			return
		}
	}
	list, is := v.([]any)
	if !is {
		w.fail("it has to be a list, or 0x and hexadecimal digits if it is one of bytes")
		return
	}
	w.sized(len(list), count)
	for i, one := range list {
		w.at(fmt.Sprint(i), of, one, depth)
	}
}

// sized writes the length of a list, or compares that of an array.
func (w *writer) sized(n, count int) {
	switch {
	case count < 0:
		w.b = scale.AppendCompact(w.b, uint64(n))
	case n != count:
		w.fail("it has %d elements, and not %d", n, count)
	}
}

func (w *writer) bytes(v any) ([]byte, bool) {
	switch v := v.(type) {
	case Bytes:
		return v, true
	case []byte:
		return v, true
	case string:
		digits, prefixed := strings.CutPrefix(v, "0x")
		b, err := hex.DecodeString(digits)
		if !prefixed || err != nil {
			w.fail("bytes are written as 0x and an even number of hexadecimal digits")
		}
		return b, true
	}
	return nil, false
}

func (w *writer) primitive(p byte, v any) {
	switch p {
	case primBool:
		is, ok := v.(bool)
		if !ok {
			w.fail("it has to be true or false")
		}
		w.b = scale.AppendBool(w.b, is)
	case primText:
		text, ok := v.(string)
		if !ok {
			w.fail("it has to be a text")
		}
		w.b = scale.AppendText(w.b, text)
	case primChar:
		text, ok := v.(string)
		runes := []rune(text)
		if !ok || len(runes) != 1 {
			w.fail("it has to be one character")
			return
		}
		w.number(big.NewInt(int64(runes[0])), 4, false)
	default:
		w.number(w.integer(v), primitiveSize(p), p >= primI8)
	}
}

func (w *writer) number(v *big.Int, size int, signed bool) {
	if w.err != nil {
		return
	}
	b, err := scale.AppendNumber(w.b, v, size, signed)
	if err != nil {
		w.fail("%v has no room in %d bits", v, 8*size)
		return
	}
	w.b = b
}

// integer reads a number: of Go, of JSON, or the digits of one.
func (w *writer) integer(v any) *big.Int {
	digits := ""
	switch v := v.(type) {
	case *big.Int:
		return v
	case uint64:
		return new(big.Int).SetUint64(v)
	case int64:
		return big.NewInt(v)
	case int:
		return big.NewInt(int64(v))
	case json.Number:
		digits = v.String()
	case string:
		digits = v
	}
	if n, ok := new(big.Int).SetString(digits, 10); ok && len(digits) < 200 {
		return n
	}
	w.fail("it has to be a whole number")
	return new(big.Int)
}

// compact writes a number that has room in the type that is made compact.
func (w *writer) compact(of TypeID, v any) {
	t := &w.rt.types[of]
	for range 8 {
		if t.form != composite || len(t.fields) != 1 {
			break
		}
		t = &w.rt.types[t.fields[0].of]
	}
	if t.size == 0 { // Compact<()>
		return
	}
	n := w.integer(v)
	if w.err == nil && (t.size == variable || n.BitLen() > 8*t.size) {
		w.fail("%v has no room in its type", n)
	}
	if w.err != nil {
		return
	}
	b, err := scale.AppendBigCompact(w.b, n)
	if err != nil {
		w.fail("%v is negative", n)
		return
	}
	w.b = b
}

func (w *writer) bits(t *typ, v any) {
	var digits string
	switch v := v.(type) {
	case Bits:
		digits = string(v)
	case string:
		digits = strings.TrimPrefix(v, "0b")
	}
	word, lowFirst := w.rt.bitWords(t)
	if strings.Trim(digits, "01") != "" || v == nil || word <= 0 {
		w.fail("it has to be 0b and digits 0 and 1")
		return
	}
	words := make([]byte, (len(digits)+8*word-1)/(8*word)*word)
	for i := range digits {
		at := i % (8 * word)
		if !lowFirst {
			at = 8*word - 1 - at
		}
		words[i/(8*word)*word+at/8] |= (digits[i] - '0') << (at % 8)
	}
	w.b = append(scale.AppendCompact(w.b, uint64(len(digits))), words...)
}
