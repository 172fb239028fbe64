package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/conchhq/conch/election/pgmint"
)

// problem is an RFC 9457 problem document, and the error that handlers return.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Holder string `json:"holder,omitempty"` // who leads instead, where that helps
	Field  string `json:"field,omitempty"`  // of the request, which is wrong
	header [2]string
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

// failf is a problem without a name of its own: its status says it all.
func failf(status int, format string, args ...any) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// named gives a problem a name that programs can tell it by.
func (p *problem) named(name, title string) *problem {
	p.Type, p.Title = "urn:conch:problem:"+name, title
	return p
}

func (p *problem) with(header, value string) *problem {
	p.header = [2]string{header, value}
	return p
}

func (p *problem) retryAfter(seconds int) *problem {
	return p.with("Retry-After", strconv.Itoa(seconds))
}

func isEnding() *problem {
	return failf(http.StatusServiceUnavailable, "this process is ending").named("ending", "Ending")
}

func unknownScope(scope string) *problem {
	return failf(http.StatusNotFound, "no scope is called %q here: GET /v1/scopes lists all", scope).named("unknown-scope", "Unknown scope")
}

// problemOf turns what a handler returned into a problem. What is none already
// came from the database.
func problemOf(err error) *problem {
	var p *problem
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &big):
		return failf(http.StatusRequestEntityTooLarge, "a body of more than %d bytes is not read", big.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		return failf(http.StatusGatewayTimeout, "the database did not answer in time").named("database-timeout", "The database did not answer").retryAfter(5)
	default:
		return failf(http.StatusServiceUnavailable, "%s", pgmint.Sentence(err)).named("database-unavailable", "The database can not be asked").retryAfter(5)
	}
}

func (p *problem) write(w http.ResponseWriter) {
	if p.header[0] != "" {
		w.Header().Set(p.header[0], p.header[1])
	}
	document(w, "application/problem+json", p.Status, p)
}

func answer(w http.ResponseWriter, status int, v any) error {
	document(w, "application/json", status, v)
	return nil
}

func document(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // nothing that is answered here can fail to be written down
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // whoever asked has gone: there is nobody left to tell
}
