package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ReadJSON reads the body into v; an empty body leaves v as it is. An unknown member is an
// error: a misspelt timeout would otherwise become the default.
func ReadJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return err
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return Failf(http.StatusRequestTimeout, "the body did not come in time").Named("body-late", "Too late")
		}
		return BadBody("could not be read")
	}
	if len(body) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Failf(http.StatusUnsupportedMediaType, "the body has to be application/json").Named("not-json", "Not JSON")
	}
	// The decoder replaces each invalid byte by U+FFFD: two names would become equal.
	if !utf8.Valid(body) {
		return BadBody("is not UTF-8")
	}
	if err := Decode(body, v); err != nil {
		return BadBody("is not what is documented: %v", err)
	}
	return nil
}

// BadBody returns the problem of a request whose body says nothing that can be understood.
func BadBody(format string, args ...any) *Problem {
	return Failf(http.StatusBadRequest, "the body "+format, args...).Named("bad-body", "Not understood")
}

// DecodeJSON reads a part of a body that ReadJSON has left as it was, in the same way.
func DecodeJSON(raw []byte, v any) error {
	if err := Decode(raw, v); err != nil {
		return BadBody("is not what is documented: %v", err)
	}
	return nil
}

const maxKey = 200 // bytes of an idempotency key

// CheckKey refuses an idempotency key that could be taken for another one.
func CheckKey(key string) error {
	switch {
	case len(key) > maxKey || strings.ContainsRune(key, 0):
		return &FieldError{Field: "idempotency_key", Text: "is not a text of up to 200 bytes"}
	case strings.ContainsRune(key, utf8.RuneError): // different keys may have been decoded to this one
		return &FieldError{Field: "idempotency_key", Text: "has the character U+FFFD, which replaces invalid ones"}
	default:
		return nil
	}
}

// Accepted answers that something is stored and will be carried out: with its ID, and its path.
func Accepted(w http.ResponseWriter, path, id string) error {
	w.Header().Set("Location", path+"/"+id)
	return Answer(w, http.StatusAccepted, struct {
		ID string `json:"id"`
	}{id})
}

// words says what a JSON value is that does not fit, which the decoder calls number, "number -1", string, array, object or bool.
func words(value string) string {
	kind, literal, _ := strings.Cut(value, " ")
	switch {
	case literal != "":
		return literal
	case kind == "array", kind == "object":
		return "an " + kind
	case kind == "string":
		return "a text"
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}

// wanted says what fits.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // bytes are written as a text
			return "a text"
		}
		return "an array"
	}
	return "an object"
}

// Decode reads a document of JSON, and refuses what it does not know. Its error says in plain words what does not fit.
func Decode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is { // whose own text names types of this program
			return fmt.Errorf("%s is %s, and has to be %s", cmp.Or(kind.Field, "the document"), words(kind.Value), wanted(kind.Type))
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return nil
}
