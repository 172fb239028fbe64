package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
)

// manyRoles is a file with so many roles.
func manyRoles(n int) string {
	var text strings.Builder
	text.WriteString("[database]\nurl = \"postgres://db/app\"\n")
	for i := range n {
		fmt.Fprintf(&text, "[[roles]]\nscope = \"s%d\"\nlease = \"9s\"\n", i)
	}
	return text.String()
}

func BenchmarkManyRoles(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, err := configtest.Load(b, manyRoles(n), config.Source{Sections: []func() config.Section{roles.Kind().Section}}, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/role")
		})
	}
}

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
