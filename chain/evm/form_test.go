package evm_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// inForm serves answers of a form, which has places for the ID and the result, in gzip.
func inForm(t *testing.T, form string) string {
	t.Helper()
	type call struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(c call) string {
			result, _ := json.Marshal(healthy(c.Method, c.Params))
			if c.Method == "eth_getTransactionCount" {
				result = []byte(`"0x7"`)
			}
			return strings.NewReplacer("ID", string(c.ID), "RESULT", string(result)).Replace(form)
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer func() { _ = zipped.Close() }()
		var one call
		if json.Unmarshal(body, &one) == nil {
			fmt.Fprint(zipped, say(one))
			return
		}
		var all []call
		var said []string
		_ = json.Unmarshal(body, &all)
		for _, c := range all {
			said = append(said, say(c))
		}
		fmt.Fprint(zipped, "["+strings.Join(said, ",")+"]")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Answers in forms that servers use: what has a result is one, also with an error that is null beside it. What has neither,
// what is an array where one answer is due, and the answer to another request are errors of the endpoint.
func TestFormsOfAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ form, want string }{
		"the usual one":       {`{"jsonrpc":"2.0","id":ID,"result":RESULT}`, ""},
		"no version":          {`{"id":ID,"result":RESULT}`, ""},
		"an error of null":    {`{"jsonrpc":"2.0","id":ID,"error":null,"result":RESULT}`, ""},
		"the same behind":     {`{"id":ID, "result":RESULT, "error" : null}`, ""},
		"an error beside":     {`{"jsonrpc":"2.0","id":ID,"error":{"code":-3,"message":"no way"},"result":RESULT}`, "no way"},
		"an error of no form": {`{"jsonrpc":"2.0","id":ID,"error":"null","result":RESULT}`, "error 0"},
		"neither":             {`{"jsonrpc":"2.0","id":ID}`, "no result"},
		"only null":           {`{"jsonrpc":"2.0","id":ID,"error":null}`, "no result"},
		"the ID of another":   {`{"jsonrpc":"2.0","id":7ID,"result":RESULT}`, "that to another request"},
		"an array of one":     {`[{"jsonrpc":"2.0","id":ID,"result":RESULT}]`, "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := open(t, evm.Config{ChainID: 1337, URL: inForm(t, c.form)})
			if _, err := driver.Describe(t.Context()); (err == nil) != (c.want == "") {
				t.Errorf("several calls at once: got %v, want an error %v", err, c.want != "")
			}
			n, err := evm.Ask(t.Context(), inForm(t, c.form), "eth_getTransactionCount")
			switch {
			case c.want == "" && (err != nil || n != "0x7"):
				t.Errorf("got %q, %v, want 0x7", n, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, chain.ErrUnreachable) && !errors.Is(err, chain.ErrAnswer)):
				t.Errorf("got %q, %v, want an error of the endpoint with %q", n, err, c.want)
			}
		})
	}
}

// An error of null gets another name wherever it stands, and nothing else is changed; the error of a body is that of the request.
func TestNullErrors(t *testing.T) {
	t.Parallel()
	const text = `[{"id":1,"result":"\"error\":null","error":null},{"error" : null},{"error":{"data":"null"}},{"errors":null},"error"]`
	want := strings.NewReplacer(`"error":null}`, `"_null":null}`, `{"error" : null`, `{"_null":null`).Replace(text)
	read := func(body io.Reader) (string, error) {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		answer, err := evm.Noter(served{body}).RoundTrip(request)
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(answer.Body)
		return string(got), errors.Join(err, answer.Body.Close())
	}
	if got, err := read(strings.NewReader(text)); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := read(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the error of the body", err)
	}
}

// served is a transport whose every answer has one body.
type served struct{ body io.Reader }

func (s served) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(s.body)}, nil
}

// A redirection to another place is not followed: the request may have a secret in its URL or its headers. The error names
// that place and no secret. One to the same place is followed, if it asks the same.
func TestRedirections(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	t.Cleanup(other.Close)
	node := inForm(t, `{"jsonrpc":"2.0","id":ID,"result":RESULT}`)
	for name, c := range map[string]struct {
		status int
		to     string
		want   string
	}{
		"another host":            {307, other.URL + "/v3/s3cret", "sends what is asked on to " + other.URL},
		"another host, for good":  {308, other.URL + "/v3/s3cret", "sends what is asked on to " + other.URL},
		"the same place":          {307, "/here", ""},
		"the same place, by GET":  {302, "/here", "sends what is asked on to http://127.0.0.1"},
		"another scheme":          {308, "https://", "sends what is asked on to https://127.0.0.1"},
		"without an end":          {307, "/v3/s3cret", "sends what is asked on to"},
		"another host, after one": {307, "/there", "sends what is asked on to " + other.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := gateway(t, node, func(http.ResponseWriter, string) bool { return false })
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/here":
					forwarded, err := http.Post(backend, "application/json", r.Body)
					if err == nil {
						_, _ = io.Copy(w, forwarded.Body)
						_ = forwarded.Body.Close()
					}
					return
				case "/there":
					w.Header().Set("Location", other.URL)
				default:
					to := c.to
					if to == "https://" {
						to += r.Host
					}
					w.Header().Set("Location", to)
				}
				w.WriteHeader(c.status)
			}))
			t.Cleanup(s.Close)
			_, err := evm.Ask(t.Context(), s.URL+"/v3/s3cret", "eth_getTransactionCount")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %v, want an error with %q and no secret", err, c.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := strayed.Load(); n != 0 {
			t.Errorf("the other host was asked %d times", n)
		}
	})
}
