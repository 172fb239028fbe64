package config_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

// member is a section whose service works on every node.
type member struct {
	config.Section
	works bool
}

func (m member) Everywhere() bool { return m.works }

// A node with work that needs no role needs none, and no database; one that has a role, or names a database, uses it.
func TestWhoUsesADatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text   string
		named, works bool
		loads, uses  bool
	}{
		{"nothing to do", "", false, false, false, true}, // so that both faults are listed
		{"a database and nothing to do", "[database]\nurl = \"postgres://db\"\n", false, false, false, true},
		{"work everywhere", "", false, true, true, false},
		{"work everywhere, and a database", "[database]\nurl = \"postgres://db\"\n", false, true, true, true},
		{"work everywhere, and a database of the environment", "", true, true, true, true},
		{"work everywhere, and a role", "[[roles]]\nname = \"a\"\n", false, true, true, true},
		{"work everywhere, standalone", "[node]\nstandalone = true\n[[roles]]\nname = \"a\"\n", false, true, true, false},
		{"a role", "[[roles]]\nname = \"a\"\n", false, false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			section := func() config.Section { return member{configtest.Plain("members"), c.works} }
			got, err := configtest.Load(t, c.text, config.Source{Named: c.named, Sections: configtest.Beside(section)}, nil)
			if (err == nil) != c.loads || got.UsesDatabase() != c.uses {
				t.Errorf("got the fault %v, and it uses a database: %t; want loaded %t, and %t", err, got.UsesDatabase(), c.loads, c.uses)
			}
		})
	}
}
