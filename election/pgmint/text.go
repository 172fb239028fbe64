package pgmint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// longestText is how much of a reason or a name is stored, in bytes: it is said in every
// history for ever, and a program may have answered a page.
const longestText = 500

// storable makes text fit for the database: cut, valid, without NUL, and in letters that
// its encoding has. What a user or a program said must not fail a write, least of all a
// farewell: its scope would be led by nobody.
func storable(conn *pgconn.PgConn, text string) string {
	return inEncoding(conn.ParameterStatus("server_encoding"), text)
}

func inEncoding(encoding, text string) string {
	if len(text) > longestText {
		text = text[:longestText] + "..."
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "")
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

// isText tells the errors of a value that the database cannot take (class 22), such as a
// letter that its encoding does not have.
func isText(code string) bool { return strings.HasPrefix(code, "22") }
