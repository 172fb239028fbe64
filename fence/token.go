package fence

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
)

// Term names one leadership of a scope: a random 128-bit value minted together with
// the epoch. Two histories of a database can repeat an epoch, never a term.
type Term [16]byte //nolint:recvcheck // the methods that parse need a pointer, all others take a copy

// String formats the term as a lower-case UUID.
func (t Term) String() string {
	var b [36]byte
	hex.Encode(b[0:8], t[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], t[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], t[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], t[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], t[10:16])
	return string(b[:])
}

// ParseTerm parses a UUID of 36 characters, in either letter case.
func ParseTerm(s string) (Term, error) {
	var t Term
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return t, fmt.Errorf("fence: %q is not a term: want a UUID of 36 characters", s)
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(t[:], []byte(digits)); err != nil {
		return Term{}, fmt.Errorf("fence: %q is not a term: %w", s, err)
	}
	return t, nil
}

// MarshalText formats the term as String does; encoding/json uses it.
func (t Term) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses text as ParseTerm does.
func (t *Term) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTerm(string(text))
	return err
}

// Value returns the term as a UUID in text, for any database/sql driver.
func (t Term) Value() (driver.Value, error) { return t.String(), nil }

// Scan reads a uuid column, as text or as its 16 bytes. A NULL is an error.
func (t *Term) Scan(from any) error {
	switch from := from.(type) {
	case string:
		return t.UnmarshalText([]byte(from))
	case []byte:
		if len(from) == len(t) {
			copy(t[:], from)
			return nil
		}
		return t.UnmarshalText(from)
	default:
		return fmt.Errorf("fence: a term cannot be read from %T", from)
	}
}

// Token proves that a mint made its holder the leader of a scope. It is a value:
// copy it freely and pass it to resources that check it. A token states a fact
// about the past ("this holder was made leader with this epoch"); ask the [Gate]
// whether the holder still leads.
type Token struct {
	Scope  string
	Holder string // name of the process that was made leader
	// Epoch only grows within a scope, even across a failover or a restore of the
	// database (requirement S9). A resource may refuse any epoch below the highest
	// that it has seen.
	Epoch int64
	Term  Term // names this leadership alone
	// System and Timeline name the history of the database that minted the token:
	// the system identifier and the timeline of a Postgres cluster.
	System   int64
	Timeline uint32
}

// Same reports whether both tokens name one term: equal scope, epoch and term.
func (t Token) Same(o Token) bool {
	return t.Scope == o.Scope && t.Epoch == o.Epoch && t.Term == o.Term
}

// String formats the token for logs. It contains no secret.
func (t Token) String() string {
	return fmt.Sprintf("%s epoch %d term %s holder %s", t.Scope, t.Epoch, t.Term, t.Holder)
}
