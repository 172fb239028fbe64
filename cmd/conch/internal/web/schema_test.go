package web_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

type object = map[string]any

// spec is openapi.yaml, and what of it was seen in life.
type spec struct {
	root object
	seen map[string]bool // "GET /path 200"
}

func readSpec(t testing.TB) *spec {
	t.Helper()
	s := &spec{seen: map[string]bool{}}
	if err := yaml.Unmarshal(web.Document(), &s.root); err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return s
}

// at walks down; a $ref on the way is followed.
func (s *spec) at(from any, keys ...string) any {
	from = s.follow(from)
	for _, k := range keys {
		o, _ := from.(object)
		from = s.follow(o[k])
	}
	return from
}

func (s *spec) follow(v any) any {
	for {
		o, _ := v.(object)
		ref, ok := o["$ref"].(string)
		if !ok {
			return v
		}
		v = s.at(s.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		if v == nil {
			panic("openapi.yaml: nothing at " + ref)
		}
	}
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options"}

// operations lists "GET /path".
func (s *spec) operations() (all []string) {
	paths, _ := s.at(s.root, "paths").(object)
	for path, item := range paths {
		for method := range item.(object) {
			if slices.Contains(methods, method) {
				// Go has a word for a parameter with slashes in it, and OpenAPI has none.
				all = append(all, strings.ToUpper(method)+" "+strings.ReplaceAll(path, "{name}", "{name...}"))
			}
		}
	}
	slices.Sort(all)
	return all
}

// responses are those of one operation, by status or default.
func (s *spec) responses(operation string) object {
	method, path, _ := strings.Cut(operation, " ")
	path = strings.ReplaceAll(path, "{name...}", "{name}")
	found, _ := s.at(s.root, "paths", path, strings.ToLower(method), "responses").(object)
	return found
}

// unseen lists the documented answers that no example gave.
func (s *spec) unseen() (all []string) {
	for _, operation := range s.operations() {
		for status := range s.responses(operation) {
			if key := operation + " " + status; status != "default" && !s.seen[key] {
				all = append(all, key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// check says what is wrong with an answer of an operation.
func (s *spec) check(operation string, status int, contentType string, body any) []string {
	key := fmt.Sprint(status)
	response := s.at(s.responses(operation), key)
	if response == nil {
		key = "default"
		response = s.at(s.responses(operation), key)
	}
	s.seen[operation+" "+key] = true
	kind, _, _ := strings.Cut(contentType, ";")
	media, ok := s.at(response, "content", kind).(object)
	if !ok {
		return []string{fmt.Sprintf("%s %s: %s is not documented", operation, key, contentType)}
	}
	return s.faults(operation+" "+key, media["schema"], body)
}

// faults holds a value against a schema: the part of JSON Schema that openapi.yaml
// uses. A keyword that is not known here is a fault, so that none is believed in
// that nobody checks.
func (s *spec) faults(at string, schema, v any) (faults []string) {
	rules, _ := s.follow(schema).(object)
	fault := func(format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	number, _ := v.(float64)
	text, isText := v.(string)
	for _, keyword := range slices.Sorted(maps.Keys(rules)) {
		rule := rules[keyword]
		switch keyword {
		case "description", "default", "properties", "required", "additionalProperties": // the last three: below
		case "type":
			if !slices.ContainsFunc(list(rule), func(t any) bool { return isA(t, v) }) {
				fault("%v is no %v", v, rule)
			}
		case "const":
			if v != rule {
				fault("%v is not %v", v, rule)
			}
		case "enum":
			if !slices.Contains(list(rule), v) {
				fault("%v is none of %v", v, rule)
			}
		case "minimum":
			if number < float64(rule.(int)) {
				fault("%v is below %v", v, rule)
			}
		case "maximum":
			if number > float64(rule.(int)) {
				fault("%v is above %v", v, rule)
			}
		case "minLength", "maxLength":
			if isText && (len(text) < rule.(int)) == (keyword == "minLength") && len(text) != rule.(int) {
				fault("%q breaks %s %v", text, keyword, rule)
			}
		case "format":
			if isText && !formatted(rule, text) {
				fault("%q is no %v", text, rule)
			}
		case "items":
			for i, item := range list(v) {
				faults = append(faults, s.faults(fmt.Sprintf("%s[%d]", at, i), rule, item)...)
			}
		case "oneOf", "allOf":
			held := 0
			var why []string
			for _, option := range list(rule) {
				f := s.faults(at, option, v)
				why = append(why, f...)
				if len(f) == 0 {
					held++
				}
			}
			if keyword == "oneOf" && held != 1 || keyword == "allOf" && held != len(list(rule)) {
				fault("%d of the schemas in %s hold: %v", held, keyword, why)
			}
		default:
			fault("the keyword %q is not known to this test", keyword)
		}
	}
	return append(faults, s.members(at, rules, v)...)
}

func (s *spec) members(at string, rules object, v any) (faults []string) {
	o, ok := v.(object)
	if !ok {
		return nil
	}
	for _, name := range list(rules["required"]) {
		if _, there := o[name.(string)]; !there {
			faults = append(faults, fmt.Sprintf("%s: %v is missing", at, name))
		}
	}
	known, _ := rules["properties"].(object)
	for name, member := range o {
		switch schema, there := known[name]; {
		case there:
			faults = append(faults, s.faults(at+"."+name, schema, member)...)
		case rules["additionalProperties"] == any(false):
			faults = append(faults, fmt.Sprintf("%s: %s is not documented", at, name))
		}
	}
	return faults
}

// list takes one for a list of one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

func isA(kind, v any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v))
	case []any:
		return kind == "array"
	default:
		return kind == "object"
	}
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func formatted(format any, text string) bool {
	switch format {
	case "uuid":
		return uuid.MatchString(text)
	case "date-time":
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil && strings.HasSuffix(text, "Z")
	default:
		return false
	}
}

// The checker is no good unless it can complain.
func TestSchemaCheckerComplains(t *testing.T) {
	s := readSpec(t)
	good := object{"leader": true, "epoch": 7.0, "term": "01020300-0000-0000-0000-000000000000", "expires_in_ms": 3.0}
	schema := s.at(s.root, "components", "schemas", "Open")
	if f := s.faults("open", schema, good); f != nil {
		t.Fatalf("a sound answer: %q", f)
	}
	for name, bad := range map[string]any{
		"leader": false, "epoch": -1.0, "term": "7", "expires_in_ms": 2.5, "surprise": 1.0,
	} {
		v := maps.Clone(good)
		v[name] = bad
		if f := s.faults("open", schema, v); len(f) == 0 {
			t.Errorf("%s = %v passed", name, bad)
		}
	}
	delete(good, "term")
	if f := s.faults("open", schema, good); len(f) == 0 {
		t.Error("a missing member passed")
	}
	if f := s.check("GET /healthz", 404, "text/plain", "404 page not found"); len(f) == 0 {
		t.Error("plain text passed for a problem")
	}
	if f := s.faults("here", s.at(s.root, "components", "schemas", "Scope", "properties", "here"), 3.0); len(f) == 0 {
		t.Error("a number passed for one of null and an object")
	}
}
