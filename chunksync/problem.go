package chunksync

import (
	"cmp"
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
	Holder string `json:"holder,omitempty"` // the leader that this node follows
}

const problemType = "application/problem+json"

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
		p.Status, p.Detail = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", big.Limit)
	case errors.As(err, &bad):
		p.Status, p.Detail = bad.status, bad.text
	case errors.Is(err, errNotOffered), errors.Is(err, errGap):
		p.Status = http.StatusPreconditionFailed
	case errors.Is(err, errMismatch):
		p.Status = http.StatusUnprocessableEntity
	case errors.Is(err, ErrFull):
		p.Status = http.StatusRequestEntityTooLarge
	}
	p.Title = cmp.Or(p.Title, http.StatusText(p.Status))
	return p
}

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
	if err != nil { // no answer of this package can fail to encode
		status, contentType = http.StatusInternalServerError, problemType
		text = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // on an error the client has gone
}
