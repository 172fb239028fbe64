package cli

import (
	"fmt"
	"reflect"
	"strconv"
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

// foreign is a value that prints inert with every verb. %q escapes by itself, and once is enough.
type foreign string

// Format implements fmt.Formatter.
func (f foreign) Format(s fmt.State, verb rune) {
	text := Inert(f)
	if verb == 'q' {
		text = strconv.Quote(string(f))
	}
	_, _ = fmt.Fprintf(s, strings.Replace(fmt.FormatString(s, verb), string(verb), "s", 1), text)
}

// Row returns a line as [fmt.Sprintf] does. The format is the layout, its tabs separate the cells of a table, and no value adds
// to that.
func Row(format string, values ...any) string {
	values = append([]any(nil), values...)
	for i, v := range values {
		switch kind := reflect.ValueOf(v).Kind(); {
		case reflect.Bool <= kind && kind <= reflect.Complex128: // not of others' making
		case kind == reflect.Slice && reflect.TypeOf(v).Elem().Kind() == reflect.Uint8:
			values[i] = foreign(fmt.Sprintf("%s", v))
		default:
			values[i] = foreign(fmt.Sprint(v))
		}
	}
	return fmt.Sprintf(format, values...)
}
