package web_test

import (
	"maps"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

type object = map[string]any

// A checker that never finds a fault would prove nothing.
func TestSchemaCheckerComplains(t *testing.T) {
	s := webtest.Read(t)
	good := object{"leader": true, "epoch": 7.0, "term": "01020300-0000-0000-0000-000000000000", "expires_in_ms": 3.0}
	schema := s.At(s.Root(), "components", "schemas", "Open")
	if f := s.Faults("open", schema, good); f != nil {
		t.Fatalf("a sound answer has the faults %q, want none", f)
	}
	for name, bad := range map[string]any{
		"leader": false, "epoch": -1.0, "term": "7", "expires_in_ms": 2.5, "surprise": 1.0,
	} {
		v := maps.Clone(good)
		v[name] = bad
		if f := s.Faults("open", schema, v); len(f) == 0 {
			t.Errorf("%s = %v passed, want a fault", name, bad)
		}
	}
	delete(good, "term")
	if f := s.Faults("open", schema, good); len(f) == 0 {
		t.Error("a missing member passed, want a fault")
	}
	if f := s.Check("GET /healthz", 404, "text/plain", "404 page not found"); len(f) == 0 {
		t.Error("plain text passed as a problem, want a fault")
	}
	if f := s.Faults("here", s.At(s.Root(), "components", "schemas", "Scope", "properties", "here"), 3.0); len(f) == 0 {
		t.Error("a number passed where null or an object is allowed, want a fault")
	}
}
