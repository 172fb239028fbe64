package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

// Problem is an RFC 9457 problem document, and the error that handlers return.
type Problem struct { //nolint:errname // the word of RFC 9457
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Holder string `json:"holder,omitempty"` // the leader, where that helps
	Field  string `json:"field,omitempty"`  // the wrong field of the request
	Limit  any    `json:"limit,omitempty"`  // which one the request exceeds, and what is left of it
	header [2]string
}

func (p *Problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

// Failf returns a problem with a status and a detail, and without a name.
func Failf(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// Named gives a problem a name by which programs recognise it.
func (p *Problem) Named(name, title string) *Problem {
	p.Type, p.Title = "urn:conch:problem:"+name, title
	return p
}

// FieldError says what is wrong with one field of a request.
type FieldError struct{ Field, Text string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

// Problem returns the answer to a request with that field.
func (e *FieldError) Problem(status int) *Problem {
	return Failf(status, "%v", e).Wrong(e.Field)
}

// Wrong says that one field of the request, or one parameter, is not acceptable.
func (p *Problem) Wrong(field string) *Problem {
	return p.Named("bad-field", "Not acceptable").About(field)
}

// About names the field of the request that the problem is about.
func (p *Problem) About(field string) *Problem {
	p.Field = field
	return p
}

// Within says which limit the request exceeds.
func (p *Problem) Within(limit any) *Problem {
	p.Limit = limit
	return p
}

func (p *Problem) with(header, value string) *Problem {
	p.header = [2]string{header, value}
	return p
}

// RetryAfter tells the caller how soon to ask again.
func (p *Problem) RetryAfter(seconds int) *Problem {
	return p.with("Retry-After", strconv.Itoa(seconds))
}

func isEnding() *Problem {
	return Failf(http.StatusServiceUnavailable, "this process is ending").Named("ending", "Ending")
}

func unknownScope(scope string) *Problem {
	return Failf(http.StatusNotFound, "no scope is called %q here: GET /v1/scopes lists all", scope).Named("unknown-scope", "Unknown scope")
}

type lockedKey struct{}

// Locked returns an error of a request that has waited for the database with the words of what it waited for, if that is known: see
// Config.Locked.
func Locked(ctx context.Context, err error) error {
	if name, is := ctx.Value(lockedKey{}).(func(context.Context, error) error); is && name != nil && err != nil {
		return name(ctx, err)
	}
	return err
}

// ProblemOf returns the answer to a request that failed with an error. One that is no *[Problem] came from the database, and says what
// locks its tables. ctx is that of the request.
func ProblemOf(ctx context.Context, err error) *Problem {
	err = Locked(ctx, err)
	var p *Problem
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &big):
		return Failf(http.StatusRequestEntityTooLarge, "a body of more than %d bytes is not read", big.Limit).Named("too-large", "Too large")
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*pgops.LockedError)):
		return Failf(http.StatusGatewayTimeout, "the database did not answer in time").Named("database-timeout", "The database did not answer").RetryAfter(5)
	default:
		return Failf(http.StatusServiceUnavailable, "%s", pgmint.Sentence(err)).Named("database-unavailable", "The database cannot be asked").RetryAfter(5)
	}
}

func (p *Problem) write(w http.ResponseWriter) {
	if p.header[0] != "" {
		w.Header().Set(p.header[0], p.header[1])
	}
	document(w, "application/problem+json", p.Status, p)
}

// Answer writes v as a JSON document. It returns nil, for use in a return statement.
func Answer(w http.ResponseWriter, status int, v any) error {
	document(w, "application/json", status, v)
	return nil
}

func document(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // cannot happen with the types that are answered here
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	body = append(body, '\n')
	if len(body) > leastZipped {
		w.Header().Add("Vary", "Accept-Encoding")
		if caller, is := w.(*recorder); is && caller.zips {
			w.Header().Set("Content-Encoding", "gzip")
			body = zipped(body)
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the caller has gone
}
