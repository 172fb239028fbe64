package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/conchhq/conch/internal/name"
)

var flat = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// Inert returns what others have written as it may be printed for people: nothing in it moves a cursor, turns the direction of
// the text, hides, or looks like the end of a line or of a column. JSON stays the same JSON.
func Inert[T ~string | ~[]byte](text T) string { return string(escaped(flat.Replace(string(text)))) }

// escaped returns a text with its lines and tabs, and an escape for all else that shows nothing where it stands.
func escaped(text string) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || name.Visible(r):
			out = append(out, text[:n]...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[n:]
	}
	return out
}

// foreign is a value that prints inert with every verb. What %q has escaped stays as it is.
type foreign struct{ value any }

// Format implements fmt.Formatter.
func (f foreign) Format(s fmt.State, verb rune) {
	_, _ = io.WriteString(s, Inert(fmt.Sprintf(fmt.FormatString(s, verb), f.value)))
}

// Row returns a line as [fmt.Sprintf] does. The format is the layout, its tabs separate the cells of a table, and no value adds
// to that.
func Row(format string, values ...any) string {
	values = slices.Clone(values)
	for i, v := range values {
		if _, width := v.(int); !width { // or a number, which is inert
			values[i] = foreign{v}
		}
	}
	return fmt.Sprintf(format, values...)
}
