package chunksync

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/conchhq/conch/fence"
)

// problem is an RFC 9457 problem document.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Holder string `json:"holder,omitempty"` // whom this node hears instead
}

const problemType = "application/problem+json"

// problemOf turns an error of a handler into an answer.
func problemOf(err error) problem {
	p := problem{Type: "about:blank", Status: http.StatusInternalServerError, Detail: err.Error()}
	var big *http.MaxBytesError
	var bad *requestError
	switch {
	case errors.Is(err, fence.ErrStale):
		p.Status, p.Type, p.Title = http.StatusConflict, "urn:conch:problem:stale", "Stale leadership"
		if stale, ok := errors.AsType[*StaleError](err); ok {
			p.Holder = stale.Holder
		}
	case errors.As(err, &big):
		p.Status, p.Detail = http.StatusRequestEntityTooLarge, fmt.Sprintf("a body of more than %d bytes is not read", big.Limit)
	case errors.As(err, &bad):
		p.Status, p.Detail = bad.status, bad.text
	case errors.Is(err, errNotOffered):
		p.Status = http.StatusPreconditionFailed
	case errors.Is(err, errNotThis):
		p.Status = http.StatusUnprocessableEntity
	case errors.Is(err, ErrFull):
		p.Status = http.StatusRequestEntityTooLarge
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// requestError is what is wrong with a request.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func badRequest(format string, args ...any) error {
	return &requestError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func answer(w http.ResponseWriter, contentType string, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // nothing that is answered here can fail to be written down
		status, contentType = http.StatusInternalServerError, problemType
		text = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked has gone: there is nobody left to tell
}
