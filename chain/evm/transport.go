package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// keptBody is how much of a response's body is kept.
const keptBody = 4 << 10

// note has what a response said beside its answers, of which go-ethereum's client keeps only the status
// and, if that is not 2xx, the body. One request has one note, in its context.
type note struct {
	status int // 0 if there was no response
	after  time.Duration
	waits  bool   // the response has the header Retry-After
	start  []byte // of the body, as far as it was read
	size   int    // of the body, as far as it was read
	id     uint64 // of the call, if the request is a single one
}

type noteKey struct{}

// noting returns a context in which noter fills in the note.
func noting(ctx context.Context) (context.Context, *note) {
	n := new(note)
	return context.WithValue(ctx, noteKey{}, n), n
}

// noter is an http.RoundTripper that fills in the note of each request. It changes no response, except that
// it ends one that is too large, and takes an error that is null for none.
type noter struct {
	most int // bytes of a body
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t noter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	n, asked := request.Context().Value(noteKey{}).(*note)
	if !asked {
		n = new(note)
	}
	*n = note{status: response.StatusCode, id: idOf(request)}
	n.after, n.waits = retryAfter(response.Header.Get("Retry-After"), time.Now())
	response.Body = &noted{withoutNullErrors(response.Body), n, t.most, t.most}
	return response, nil
}

// idOf returns the ID of a single call, as go-ethereum's client writes it first; 0 of a batch.
func idOf(request *http.Request) (id uint64) {
	if request.GetBody == nil {
		return 0
	}
	if body, err := request.GetBody(); err == nil {
		_, _ = fmt.Fscanf(body, `{"jsonrpc":"2.0","id":%d`, &id)
		_ = body.Close()
	}
	return id
}

// isAnothers reports whether the answer to a single call is that to another one, as a cache may give it: go-ethereum's client
// compares the IDs of a batch alone. A long answer is not looked at; what is in it has a hash or a number of its own.
func (n *note) isAnothers() bool {
	var answer struct {
		ID json.RawMessage `json:"id"`
	}
	if n.id == 0 || n.size > len(n.start) || json.Unmarshal(n.start, &answer) != nil {
		return false
	}
	id := strings.Trim(string(answer.ID), `"`)
	return id != "" && id != "null" && id != strconv.FormatUint(n.id, 10)
}

// errAnothers is the error of an answer for which isAnothers is true.
var errAnothers = errors.New("the answer is that to another request: a cache or proxy before the node may mix them up")

// stays refuses to follow a redirection to another place: the path or the headers have the provider's secret. One that would
// ask by GET loses what is asked.
func stays(next *http.Request, before []*http.Request) error {
	first := before[0]
	if len(before) > 3 || next.Method != first.Method || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
		return fmt.Errorf("it sends what is asked on to %s, and conch does not follow, since the URL may have a secret: write the URL that answers", shown(next.URL.String()))
	}
	return nil
}

// CloseIdleConnections does what http.Client.CloseIdleConnections asks of a transport.
func (t noter) CloseIdleConnections() {
	if next, can := t.next.(interface{ CloseIdleConnections() }); can {
		next.CloseIdleConnections()
	}
}

// noted is a body whose beginning is kept. It ends with an error after so many bytes: the caller holds all of
// it in memory.
type noted struct {
	io.ReadCloser
	note       *note
	left, most int
}

func (b *noted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.note.size += n
	b.note.start = append(b.note.start, p[:min(n, keptBody-len(b.note.start))]...)
	if n > b.left {
		return b.left, &sizeError{b.most}
	}
	b.left -= n
	return n, err
}

// sizeError is the error of an answer with too many bytes.
type sizeError struct{ most int }

func (e *sizeError) Error() string {
	return fmt.Sprintf("the answer is too large: more than %d MiB", e.most>>20)
}

// responseError is the error of a request that had a response, but no usable answer.
type responseError struct {
	cause  error
	status int
	after  time.Duration // see waits
	waits  bool          // the response says how long to wait
	answer bool          // the body is a JSON-RPC error, with code, text and data
	code   int
	text   string // what the node said; it may have a secret in it
	data   json.RawMessage
	shown  string // the text without secrets
}

func (e *responseError) Error() string {
	if e.shown == "" {
		return e.cause.Error()
	}
	return fmt.Sprintf("%v: %s", e.cause, e.shown)
}

func (e *responseError) Unwrap() error { return e.cause }

// explain adds to the error of a request what its response said. The error is that of endpoint.fail,
// which has no secrets. It stays as it is if there was no response.
func (n *note) explain(err error, secrets []string) error {
	if err == nil || n.status == 0 {
		return err
	}
	e := &responseError{cause: err, status: n.status, after: n.after, waits: n.waits}
	e.code, e.text, e.data, e.answer = readError(n.start)
	if e.shown = redact(e.text, secrets); bytes.HasPrefix(bytes.TrimSpace(n.start), []byte("<")) {
		e.shown = "the answer is a page, not JSON-RPC"
	}
	return e
}

// readError reads the body of a refused request: a JSON-RPC error, one as the only member of an array, or
// plain text. A page has neither.
func readError(body []byte) (code int, text string, data json.RawMessage, answer bool) {
	type refusal struct {
		Error *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	var one refusal
	var all []refusal
	body = bytes.TrimSpace(body)
	switch {
	case json.Unmarshal(body, &one) == nil && one.Error != nil:
	case json.Unmarshal(body, &all) == nil && len(all) == 1 && all[0].Error != nil:
		one = all[0]
	case len(body) > 0 && bytes.ContainsAny(body[:1], `<{["`):
		return 0, "", nil, false
	default:
		return 0, string(body), nil, false
	}
	return one.Error.Code, one.Error.Message, one.Error.Data, true
}
