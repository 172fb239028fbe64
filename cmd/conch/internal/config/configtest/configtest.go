// Package configtest reads configurations for tests of sections.
package configtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Load writes a configuration into a temporary folder and loads it.
func Load(t testing.TB, text string, s config.Source, env map[string]string) (config.Config, error) {
	t.Helper()
	s.Path = filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Getenv = func(name string) string { return env[name] }
	return config.Load(s)
}

// Faults checks that an error of a configuration says each of some texts, and not one that it has to keep to itself.
func Faults(t testing.TB, err error, says []string, never string) {
	t.Helper()
	if err == nil {
		t.Fatal("the configuration has no fault, want one")
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got the faults %v\nwant one with %q", err, part)
		}
	}
	if strings.Contains(err.Error(), never) {
		t.Errorf("the faults say %q: %v", never, err)
	}
}

// Beside returns sections for a source: [[roles]] whose roles do nothing, and those given.
func Beside(sections ...func() config.Section) []func() config.Section {
	return append([]func() config.Section{func() config.Section { return Plain("roles") }}, sections...)
}

// Plain returns a section whose roles only keep a gate: those given and those in its table.
func Plain(table string, roles ...config.Role) config.Section { return &plain{table, roles} }

type plain struct {
	table string
	roles []config.Role
}

func (s *plain) Table() string                         { return s.table }
func (*plain) Settle(*config.Decoder, config.Config)   {}
func (*plain) Validate(*config.Decoder, config.Config) {}
func (s *plain) Roles() []config.Role                  { return s.roles }

func (s *plain) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.table: func(place string, value any) {
		for i, v := range d.Tables(place, value) {
			var r config.Role
			d.Table(fmt.Sprintf("%s[%d]", place, i), v, d.Role(&r))
			if r.Scope == "" {
				r.Scope = r.Name
			}
			s.roles = append(s.roles, r)
		}
	}}
}
