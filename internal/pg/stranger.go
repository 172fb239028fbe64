package pg

import (
	"fmt"
	"strings"
	"time"
)

// strangerError means that something else than PostgreSQL answers at an address.
type strangerError struct{ said string }

func (e *strangerError) Error() string { return fmt.Sprintf("it said %q", e.said) }

// answers are the first bytes with which a server or a pooler answers: to the request for TLS, and to the
// startup message. With sslnegotiation=direct it answers in TLS.
const answers = "SNERv\x15\x16"

// strange returns an error if the first bytes of a line are no server's.
func (l *line) strange(first []byte) error {
	if strings.IndexByte(answers, first[0]) >= 0 && !strings.HasPrefix(string(first), "SSH-") {
		return nil
	}
	var rest [40]byte // pgx reads a single byte first
	_ = l.SetReadDeadline(time.Now().Add(lastPatience))
	n, _ := l.Conn.Read(rest[:])
	text, _, _ := strings.Cut(string(first)+string(rest[:n]), "\n")
	return &strangerError{said: strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), len(rest))], "?"))}
}
