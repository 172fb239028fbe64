package webtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

type object = map[string]any

// Spec is openapi.yaml, with the answers that a test has seen.
type Spec struct {
	root object
	seen map[string]bool // "GET /path 200"
}

// Read reads the document of a site's own routes and of services' parts.
func Read(t testing.TB, parts ...string) *Spec {
	t.Helper()
	s := &Spec{seen: map[string]bool{}}
	if err := yaml.Unmarshal(web.Document(parts...), &s.root); err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return s
}

// Root is the whole document.
func (s *Spec) Root() map[string]any { return s.root }

// Seen records that another test sees an answer, such as "GET /v1/events 200".
func (s *Spec) Seen(answer string) { s.seen[answer] = true }

// At follows keys down from a value, and every $ref on the way.
func (s *Spec) At(from any, keys ...string) any {
	from = s.follow(from)
	for _, k := range keys {
		o, _ := from.(object)
		from = s.follow(o[k])
	}
	return from
}

func (s *Spec) follow(v any) any {
	for {
		o, _ := v.(object)
		ref, ok := o["$ref"].(string)
		if !ok {
			return v
		}
		v = s.At(s.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		if v == nil {
			panic("openapi.yaml: nothing at " + ref)
		}
	}
}

var last = regexp.MustCompile(`{name}$`)

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options"}

// Operations lists the operations, such as "GET /path".
func (s *Spec) Operations() (all []string) {
	paths, _ := s.At(s.root, "paths").(object)
	for path, item := range paths {
		methodsOf, _ := item.(object)
		for method := range methodsOf {
			if slices.Contains(methods, method) {
				// A parameter with slashes, which is the last, has a special form in ServeMux and none in OpenAPI.
				all = append(all, strings.ToUpper(method)+" "+last.ReplaceAllString(path, "{name...}"))
			}
		}
	}
	slices.Sort(all)
	return all
}

// Parameters returns the parameters that an operation has in its query or its header, by name.
func (s *Spec) Parameters(operation, in string) (names []string) {
	for _, of := range []any{s.part(operation, "parameters"), s.At(s.root, "paths", pathOf(operation), "parameters")} {
		for _, p := range list(of) {
			if s.At(p, "in") == any(in) {
				names = append(names, fmt.Sprint(s.At(p, "name")))
			}
		}
	}
	slices.Sort(names)
	return names
}

// pathOf returns the path of an operation as the document has it.
func pathOf(operation string) string {
	_, path, _ := strings.Cut(operation, " ")
	return strings.ReplaceAll(path, "{name...}", "{name}")
}

// part returns a member of an operation.
func (s *Spec) part(operation, name string) any {
	method, _, _ := strings.Cut(operation, " ")
	return s.At(s.root, "paths", pathOf(operation), strings.ToLower(method), name)
}

// responses returns those of an operation, by status or default.
func (s *Spec) responses(operation string) object {
	found, _ := s.part(operation, "responses").(object)
	return found
}

// Unseen lists documented answers that no test has seen, of the operations that of selects.
func (s *Spec) Unseen(of func(operation string) bool) (all []string) {
	for _, operation := range s.Operations() {
		if !of(operation) {
			continue
		}
		for status := range s.responses(operation) {
			if key := operation + " " + status; status != "default" && !s.seen[key] {
				all = append(all, key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Check lists the faults of an operation's answer, and records that it was seen.
func (s *Spec) Check(operation string, status int, contentType string, body any) []string {
	key := fmt.Sprint(status)
	response := s.At(s.responses(operation), key)
	if response == nil {
		key = "default"
		response = s.At(s.responses(operation), key)
	}
	s.seen[operation+" "+key] = true
	kind, _, _ := strings.Cut(contentType, ";")
	media, ok := s.At(response, "content", kind).(object)
	if !ok {
		return []string{fmt.Sprintf("%s %s: %s is not documented", operation, key, contentType)}
	}
	return s.Faults(operation+" "+key, media["schema"], body)
}

// Faults compares a value with a schema, by the part of JSON Schema that openapi.yaml uses. An
// unknown keyword is a fault, so that none goes unchecked.
func (s *Spec) Faults(at string, schema, v any) (faults []string) { //nolint:funlen // a case for each keyword
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
			if number < numberOf(rule) {
				fault("%v is below %v", v, rule)
			}
		case "maximum":
			if number > numberOf(rule) {
				fault("%v is above %v", v, rule)
			}
		case "minLength", "maxLength":
			if length := float64(len(text)); isText && (length < numberOf(rule)) == (keyword == "minLength") && length != numberOf(rule) {
				fault("%q breaks %s %v", text, keyword, rule)
			}
		case "format":
			if isText && !formatted(rule, text) {
				fault("%q is no %v", text, rule)
			}
		case "items":
			for i, item := range list(v) {
				faults = append(faults, s.Faults(fmt.Sprintf("%s[%d]", at, i), rule, item)...)
			}
		case "oneOf", "allOf":
			held := 0
			var why []string
			for _, option := range list(rule) {
				f := s.Faults(at, option, v)
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

func (s *Spec) members(at string, rules object, v any) (faults []string) {
	o, ok := v.(object)
	if !ok {
		return nil
	}
	for _, name := range list(rules["required"]) {
		if _, there := o[fmt.Sprint(name)]; !there {
			faults = append(faults, fmt.Sprintf("%s: %v is missing", at, name))
		}
	}
	known, _ := rules["properties"].(object)
	for name, member := range o {
		switch schema, there := known[name]; {
		case there:
			faults = append(faults, s.Faults(at+"."+name, schema, member)...)
		case rules["additionalProperties"] == any(false):
			faults = append(faults, fmt.Sprintf("%s: %s is not documented", at, name))
		}
	}
	return faults
}

func numberOf(rule any) float64 {
	n, _ := rule.(int)
	return float64(n)
}

// list treats a single value as a list of one.
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

// Operation returns the documented operation of a request; empty if there is none.
func (s *Spec) Operation(r *http.Request) string {
	mux := http.NewServeMux()
	for _, o := range s.Operations() {
		mux.HandleFunc(o, func(http.ResponseWriter, *http.Request) {})
	}
	_, pattern := mux.Handler(r)
	return pattern
}

// Verify compares an answer with the document; without an operation it must be a problem.
func (s *Spec) Verify(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	kind := w.Header().Get("Content-Type")
	var body any = w.Body.String()
	if strings.Contains(kind, "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Errorf("%s %s: %v in %s", r.Method, r.URL, err, w.Body)
		}
	}
	saysNo := w.Code == http.StatusServiceUnavailable && (strings.HasSuffix(r.URL.Path, "/gate") || strings.HasPrefix(r.URL.Path, "/leader/"))
	if w.Code >= 400 && kind != "application/problem+json" && !saysNo {
		t.Errorf("%s %s answers %d with %s, want a problem document", r.Method, r.URL, w.Code, kind)
	}
	var faults []string
	if operation := s.Operation(r); operation != "" {
		faults = s.Check(operation, w.Code, kind, body)
	} else {
		faults = s.Faults("problem", s.At(s.root, "components", "schemas", "Problem"), body)
	}
	for _, f := range faults {
		t.Error(f)
	}
}
