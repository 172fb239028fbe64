// Package name says which texts people can tell apart. Programs compare names by their bytes, and people by their looks: two
// names that look the same are two leaders at a time.
package name

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// blank is a character that takes room and shows nothing, though Unicode calls it a symbol.
const blank = '\u2800'

// Visible reports whether a character shows something where it stands, and moves nothing else: no control or format character, no
// space but the usual one, nothing that a terminal is free to leave out.
func Visible(r rune) bool {
	return unicode.IsPrint(r) && r != blank && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Fault says why readers could take a text for another one, as the end of a sentence that begins with it; "" if they could not.
func Fault(s string) string {
	switch odd := strings.IndexFunc(s, func(r rune) bool { return !Visible(r) }); {
	case !utf8.ValidString(s):
		return "is not valid text"
	case odd >= 0:
		r, _ := utf8.DecodeRuneInString(s[odd:])
		return fmt.Sprintf("is not valid text: nobody sees its character %U", r)
	case s == "." || s == "..":
		return "is a folder in every path and URL, and no name: take another"
	case strings.TrimSpace(s) != s:
		return "begins or ends with a space, which nobody sees: take it out"
	case !norm.NFC.IsNormalString(s):
		return fmt.Sprintf("is written in an unusual way, which looks the same as the usual one: write %q", norm.NFC.String(s))
	}
	return ""
}

// plain turns characters that look like others in many fonts into those.
var plain = strings.NewReplacer(
	"а", "a", "α", "a", "с", "c", "ϲ", "c", "ԁ", "d", "е", "e", "ɡ", "g", "һ", "h", "l", "i", "1", "i", "|", "i", "ı", "i", "і", "i", "ι", "i", "ӏ", "i",
	"ј", "j", "к", "k", "κ", "k", "о", "o", "0", "o", "ο", "o", "σ", "o", "р", "p", "ρ", "p", "ԛ", "q", "ѕ", "s", "υ", "u", "ν", "v", "ѵ", "v", "ѡ", "w",
	"ω", "w", "х", "x", "χ", "x", "у", "y", "‐", "-", "–", "-", "—", "-", "−", "-", "_", "-",
)

// Shape returns what a reader sees of a name at a glance. Names of one shape are easily taken for each other.
func Shape(s string) string {
	return plain.Replace(strings.Map(func(r rune) rune {
		if !Visible(r) || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(s)))
}
