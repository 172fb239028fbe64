package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Inert returns what others have written as it may be printed for people: nothing in it moves a cursor, turns the direction of
// the text, or looks like the end of a line. JSON stays the same JSON.
func Inert[T ~string | ~[]byte](text T) string {
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			out.WriteByte(' ')
		case unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				_, _ = fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}
