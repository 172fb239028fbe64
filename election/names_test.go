package election_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/election"
)

// Names are printed on terminals, sent in notifications and stored. A name that could forge a line
// there or control a terminal is refused.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct{ scope, id bool }{
		"payments": {}, "storagehub:main:0xab:msp-leader": {id: true}, "zahlungen-ü": {}, "": {true, true},
		strings.Repeat("s", 200): {}, strings.Repeat("s", 201): {true, true},
		"a\nb": {true, true}, "a\x1b[2Jb": {true, true}, "a\x00b": {true, true}, "a\x7fb": {true, true},
		"a\u009bb": {true, true}, "a\xffb": {true, true},
		// In a database such a scope may be, and operators reach it; nobody is called so any more.
		"mailer ": {id: true}, "mail\u200ber": {id: true}, "..": {id: true}, "cafe\u0301": {id: true},
	} {
		if err := election.ValidScope(name); (err != nil) != bad.scope {
			t.Errorf("ValidScope(%q) = %v", name, err)
		}
		if err := election.ValidID(name); (err != nil) != bad.id {
			t.Errorf("ValidID(%q) = %v", name, err)
		}
	}
}
