package pg

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// longestText is the most bytes of a reason or a name that are stored. The history keeps it
// for ever, and a program may have answered with a whole page.
const longestText = 500

// Storable returns text in a form that the database takes: shortened, valid, without NUL,
// and with letters that the server's encoding lacks written as \uXXXX. What a user or a
// program says must not fail a write, least of all a farewell: nobody would lead the scope.
func Storable(conn *pgconn.PgConn, text string) string {
	if len(text) > longestText {
		text = text[:longestText] + "..."
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "")
	encoding := conn.ParameterStatus("server_encoding")
	if encoding == "UTF8" || encoding == "SQL_ASCII" { // the latter takes any byte
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// IsUnstorable reports whether the server refused a value (SQLSTATE class 22), such as a
// letter that its encoding lacks.
func IsUnstorable(err error) bool { return strings.HasPrefix(Code(err), "22") }
