package pg

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pattern"
)

const encode = "the password in the URL, or another part of it, has a character, such as / or #, that must be percent-encoded: " +
	"write / as %2F, # as %23, ? as %3F, @ as %40 and % as %25"

// ambiguous says what makes a URL mean something else than its author meant: part of the password would be
// taken for a host, a port or a database, and these are shown.
func ambiguous(url string) string {
	switch found := parts().FindStringSubmatch(url); {
	case found == nil:
		return ""
	case strings.Contains(found[2], "@"):
		return "there is an @ in its user or its password (a user such as ada@server, or a password): write it as %40"
	case strings.Contains(found[3], "@"):
		return encode
	}
	return ""
}

// parseReason returns the part of pgx's message that cannot contain a password: pgx quotes
// the connection string, and the text that it could not parse may be the password.
func parseReason(err error) string {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); !ok {
		return "it cannot be parsed"
	}
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	for _, speaksOfFiles := range []string{"failed to configure TLS", "failed to read service"} {
		if strings.HasPrefix(text, speaksOfFiles) {
			return text
		}
	}
	if strings.HasPrefix(text, "failed to parse as keyword/value") {
		return "it is neither a URL nor a list of keywords and values: write " + example + ", with no space or quotation mark before it"
	}
	text, _, _ = strings.Cut(text, " (")
	if text == "failed to parse as URL" {
		return "it cannot be read as a URL, perhaps since " + encode
	}
	return text
}

const example = "postgres://user@host:5432/database"

// parts finds the scheme of a URL, its hosts after the first @ that stands before a slash, and its path.
var parts = pattern.Of(`^([a-z][a-z0-9+:]*)://(?:[^@/]*@)?([^/?]*)([^?]*)`)

// foreign returns the scheme of a URL that is not PostgreSQL's. It contains no password.
func foreign(url string) string {
	found := parts().FindStringSubmatch(url)
	if found == nil || found[1] == "postgres" || found[1] == "postgresql" {
		return ""
	}
	return found[1]
}
