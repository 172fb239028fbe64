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
			return Failf(http.StatusRequestTimeout, "the body did not come in time")
		}
		return Failf(http.StatusBadRequest, "the body could not be read")
	}
	if len(body) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Failf(http.StatusUnsupportedMediaType, "the body has to be application/json")
	}
	// The decoder replaces each invalid byte by U+FFFD: two names would become equal.
	if !utf8.Valid(body) {
		return Failf(http.StatusBadRequest, "the body is not UTF-8")
	}
	if err := decode(body, v); err != nil {
		return Failf(http.StatusBadRequest, "the body is not what is documented: %v", err)
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

func decode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is { // whose own text names types of this program
			return fmt.Errorf("%s is a JSON %s", cmp.Or(kind.Field, "the document"), kind.Value)
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return nil
}
