// Package nodeapi asks the HTTP API of a node that an experiment runs.
package nodeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// mostAnswer bounds what is read of an answer.
const mostAnswer = 16 << 20

// RefusedError is an answer that repeating the request would not change.
type RefusedError struct {
	Status int
	Text   string
}

// Error implements error.
func (e *RefusedError) Error() string { return fmt.Sprintf("a node refused: %d %s", e.Status, e.Text) }

// Ask sends a request, and decodes the answer. The body is sent as it is if it is of bytes, as JSON otherwise, and not at all if
// it is nil. After an error other than a RefusedError the request may have been carried out.
func (n *Node) Ask(ctx context.Context, method, path string, body, out any) error {
	content, kind, err := encode(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, n.Base+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if n.Token != "" {
		r.Header.Set("Authorization", "Bearer "+n.Token)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := n.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	switch {
	case err != nil:
		return err
	case answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("the node says %s: %s", answer.Status, bytes.TrimSpace(text))
	case answer.StatusCode >= http.StatusBadRequest:
		return &RefusedError{answer.StatusCode, string(text)}
	}
	return json.Unmarshal(text, out)
}

func encode(body any) (content []byte, kind string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return b, "application/octet-stream", nil
	}
	content, err = json.Marshal(body)
	return content, "application/json", err
}

// overUnix connects to a node that listens on a Unix socket, whatever host is asked for, and keeps so many connections for the
// next requests; two if 0.
func overUnix(path string, idle int) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}, MaxIdleConnsPerHost: idle}
}
