// Package rest asks a service of keys over HTTP, in JSON: all that clients of such services have in common.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/internal/secretfile"
)

const (
	most     = 1 << 20 // bytes of an answer
	idle     = time.Minute
	atOnce   = 32 // connections that are kept: as many as there are signatures at once
	attempts = 10 * time.Second
)

// Client returns one for a service, which is verified by the certificates of a file, without one by those of the system. It follows no
// redirect, which would carry a token to another place.
func Client(caFile string) (*http.Client, error) {
	roots, err := secretfile.Roots(caFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: atOnce, IdleConnTimeout: idle, ForceAttemptHTTP2: true,
		},
		Timeout:       attempts,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Address returns the URL of a service, false if the text is none.
func Address(text string) (*url.URL, bool) {
	at, err := url.Parse(text)
	return at, err == nil && at.Host != "" && (at.Scheme == "http" || at.Scheme == "https") && at.User == nil
}

// Service is a service that keeps a key. A client of one embeds it, and has its methods.
type Service struct {
	Shown  string // names the service and its key, without a secret
	Client *http.Client
	// Authorize gives a request its credentials.
	Authorize func(r *http.Request, body []byte) error
	// Judge returns why an answer is no success, and the code that it gives; an empty code: its status says all.
	Judge func(a Answer) (keyservice.Kind, string)
}

// Close closes the connections that are not in use.
func (s *Service) Close() { s.Client.CloseIdleConnections() }

// String names the key.
func (s *Service) String() string { return s.Shown }

// Format writes String, for every verb: what is below has credentials.
func (s *Service) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.Shown)) }

// Fault returns the service's fault.
func (s *Service) Fault(kind keyservice.Kind, detail string) error {
	return &keyservice.FaultError{Kind: kind, Service: s.Shown, Detail: detail}
}

// Unread is the fault of a service whose answer is not what its documentation says.
func (s *Service) Unread(what string) error {
	return s.Fault(keyservice.Refused, "its answer has no "+what+" that can be read")
}

// Answer is what a service said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Kind returns the kind of a code, which is that of the status if it is not in the table, and what may be shown of the code.
func (a Answer) Kind(kinds map[string]keyservice.Kind, code string) (keyservice.Kind, string) {
	if kind, known := kinds[code]; known {
		return kind, keyservice.Code(code)
	}
	return keyservice.OfStatus(a.Status), keyservice.Code(code)
}

// Ask sends a request with a body of JSON, none if it is nil, and reads the answer of 200 into to. The header is optional. The error
// is a *keyservice.FaultError without a secret.
func (s *Service) Ask(ctx context.Context, method, address string, header http.Header, body, to any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return s.Fault(keyservice.Refused, "the request cannot be written")
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return s.Fault(keyservice.Refused, "its address cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	maps.Copy(r.Header, header)
	if err := s.Authorize(r, text); err != nil {
		return err
	}
	answer, err := s.Send(r)
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		kind, code := s.Judge(answer)
		if code == "" {
			code = fmt.Sprintf("HTTP %d", answer.Status)
		}
		return s.Fault(kind, code)
	case json.Unmarshal(answer.Body, to) != nil:
		return s.Unread("field")
	}
	return nil
}

// Send sends a request and returns the answer, whatever its status is.
func (s *Service) Send(r *http.Request) (Answer, error) {
	response, err := s.Client.Do(r)
	if err != nil {
		return Answer{}, keyservice.Of(s.Shown, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return Answer{}, keyservice.Of(s.Shown, err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: text}, nil
}

// ReadPEM returns the bytes of a public key in PEM.
func (s *Service) ReadPEM(text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, s.Unread("public key")
	}
	return block.Bytes, nil
}
