package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is kept as a text: 'j' and JSON in its one form, or 'b' and any bytes. The empty text is no value: the key is not
// there.
const (
	isJSON  = 'j'
	isBytes = 'b'
)

func isValue(v []byte) bool {
	return len(v) > 0 && len(v) <= 1+mostValue && (v[0] == isJSON || v[0] == isBytes)
}

// isKey reports whether a text can be a key: it can be printed on one line, and typed.
func isKey(key []byte) bool {
	for _, c := range key {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(key) > 0 && len(key) <= mostKey && utf8.Valid(key)
}

// jsonValue returns a value of JSON in its one form: no spaces, names sorted, numbers as short as they can be.
func jsonValue(raw json.RawMessage) (string, error) {
	if _, is := plain(raw); is {
		return fitting(string(isJSON) + string(raw))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", bad("a value is no JSON")
	}
	v, err := shorten(v)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", bad("a value cannot be written: " + err.Error())
	}
	return fitting(string(isJSON) + strings.TrimSuffix(out.String(), "\n"))
}

func fitting(v string) (string, error) {
	if len(v) > 1+mostValue {
		return "", limit("a value of " + strconv.Itoa(len(v)-1) + " bytes, of " + strconv.Itoa(mostValue) + " at most")
	}
	return v, nil
}

// shorten writes the numbers of a value in their one form.
func shorten(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			if v[i], err = shorten(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = shorten(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// number returns the one form of a number, without rounding it: 1, 1.0 and 10e-1 are all 1.
func number(text string) (json.Number, error) {
	digits, power, _ := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", bad("the number " + text + " is too large or too small")
		}
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, part, _ := strings.Cut(digits, ".")
	exponent -= len(part)
	digits = strings.TrimLeft(whole+part, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return "0", nil
	case exponent >= 0 && len(trimmed)+exponent <= 21:
		return json.Number(sign + trimmed + strings.Repeat("0", exponent)), nil
	case exponent < 0 && -exponent < len(trimmed):
		return json.Number(sign + trimmed[:len(trimmed)+exponent] + "." + trimmed[len(trimmed)+exponent:]), nil
	case exponent < 0 && -exponent <= len(trimmed)+6:
		return json.Number(sign + "0." + strings.Repeat("0", -exponent-len(trimmed)) + trimmed), nil
	}
	if exponent += len(trimmed) - 1; exponent > maxExponent || exponent < -maxExponent {
		return "", bad("a number is too large or too small")
	}
	if len(trimmed) > 1 {
		trimmed = trimmed[:1] + "." + trimmed[1:]
	}
	return json.Number(sign + trimmed + "e" + strconv.Itoa(exponent)), nil
}

// integer returns the number that a value is; no value is 0.
func integer(v string) (int64, bool) {
	switch {
	case v == "":
		return 0, true
	case v[0] != isJSON:
		return 0, false
	}
	n, err := strconv.ParseInt(v[1:], 10, 64)
	return n, err == nil
}

// shown returns a value for a person, cut if it is long.
func shown(v string) string {
	const most = 100
	switch {
	case v == "":
		return "no value"
	case v[0] == isBytes && len(v) > most:
		return "base64 " + base64.StdEncoding.EncodeToString([]byte(v[1:most])) + "…"
	case v[0] == isBytes:
		return "base64 " + base64.StdEncoding.EncodeToString([]byte(v[1:]))
	case len(v) > most:
		return strings.ToValidUTF8(v[1:most], "") + "…"
	}
	return v[1:]
}
