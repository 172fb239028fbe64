// Package rest asks a service of keys over HTTP, in JSON.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
)

const (
	most     = 1 << 20 // bytes of an answer
	idle     = time.Minute
	atOnce   = 32 // connections that are kept: as many as there are signatures at once
	attempts = 10 * time.Second
)

// Client returns one for a service. It follows no redirect, which would carry a token to another place.
func Client(transport *http.Transport) *http.Client {
	if transport == nil {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout, transport.ForceAttemptHTTP2 = atOnce, idle, true
	return &http.Client{
		Transport: transport, Timeout: attempts,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Answer is what a service said.
type Answer struct {
	Status int
	Body   []byte
}

// Ask sends a request with a body of JSON, none if it is nil, and returns the answer, whatever its status is. The error is a
// *keyservice.FaultError without a secret.
func Ask(ctx context.Context, client *http.Client, service, method, url string, header http.Header, body any) (Answer, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return Answer{}, &keyservice.FaultError{Kind: keyservice.Refused, Service: service, Detail: "the request cannot be written"}
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return Answer{}, &keyservice.FaultError{Kind: keyservice.Refused, Service: service, Detail: "its address cannot be read"}
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return Answer{}, keyservice.Of(service, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return Answer{}, keyservice.Of(service, err)
	}
	return Answer{Status: response.StatusCode, Body: text}, nil
}

// Unread is the fault of a service whose answer is not what its documentation says.
func Unread(service, what string) error {
	return &keyservice.FaultError{Kind: keyservice.Refused, Service: service, Detail: "its answer has no " + what + " that can be read"}
}

// PublicKey returns the bytes of a public key in PEM.
func PublicKey(service, text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, Unread(service, "public key")
	}
	return block.Bytes, nil
}
