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

	"github.com/conchhq/conch/internal/pattern"
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
}

type noteKey struct{}

// noting returns a context in which noter fills in the note.
func noting(ctx context.Context) (context.Context, *note) {
	n := new(note)
	return context.WithValue(ctx, noteKey{}, n), n
}

// noter is an http.RoundTripper that reads a whole answer and fills in the note of its request. It ends an answer that is
// too large, and refuses that to another request.
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
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(t.most)+1))
	_ = response.Body.Close()
	*n = note{status: response.StatusCode, start: body[:min(len(body), keptBody)]}
	n.after, n.waits = retryAfter(response.Header.Get("Retry-After"), time.Now())
	switch {
	case err != nil:
		return nil, err
	case len(body) > t.most:
		return nil, &sizeError{t.most}
	case isAnothers(body, request):
		return nil, errors.New("the answer is that to another request: a cache or proxy before the node may mix them up")
	}
	response.Body = io.NopCloser(bytes.NewReader(nullError().ReplaceAll(body, []byte(`"_null":null`))))
	return response, nil
}

// nullError is what some servers send beside a result, as JSON-RPC 1.0 has it, and go-ethereum's client takes for an error. Under
// another name nobody reads it. In a string its quotes would have a backslash before them.
var nullError = pattern.Of(`"error"\s*:\s*null`)

// isAnothers reports whether the answer to a single call is that to another one, as a cache may give it: go-ethereum's client
// compares the IDs of a batch alone. A long answer is not looked at; what is in it has a hash or a number of its own.
func isAnothers(body []byte, request *http.Request) bool {
	var answer struct {
		ID json.RawMessage `json:"id"`
	}
	if request.GetBody == nil || len(body) > keptBody || json.Unmarshal(body, &answer) != nil {
		return false
	}
	var id uint64                   // which go-ethereum's client writes first
	asked, err := request.GetBody() // from memory: there is nothing to close
	if err == nil {
		_, err = fmt.Fscanf(asked, `{"jsonrpc":"2.0","id":%d`, &id)
	}
	said := strings.Trim(string(answer.ID), `"`)
	return err == nil && said != "" && said != "null" && said != strconv.FormatUint(id, 10)
}

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
