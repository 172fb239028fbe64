package chunksync

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// What nodes say to each other. A catalog is offered again and again until nothing is
// missing; the offer that finds nothing missing is the commit. A tenure is called reign here.
type (
	promiseRequest struct {
		Tenure Tenure `json:"reign"`
		Holder string `json:"holder"`
	}
	offerRequest struct {
		Holder  string          `json:"holder"`
		Catalog json.RawMessage `json:"catalog"`
	}
	heldAnswer struct {
		ID      string  `json:"id"` // who answers
		Held    Version `json:"held"`
		Damaged bool    `json:"damaged,omitempty"` // not all content of it is there
		Missing []Hash  `json:"missing,omitempty"`
	}
)

const (
	epochHeader = "Conch-Epoch"
	termHeader  = "Conch-Term"
	maxPromise  = 4 << 10
	maxHolder   = 256
)

// limitOf is how large a body may be.
func limitOf(r *http.Request) int64 {
	switch {
	case strings.HasSuffix(r.URL.Path, "/catalog"):
		return MaxCatalog + maxPromise
	case strings.Contains(r.URL.Path, "/chunks/"):
		return ChunkSize
	}
	return maxPromise
}

// read takes a body.
func read(r *http.Request, to any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	if err := decode(text, to); err != nil {
		return badRequest("the body is not what is asked for here: %v", err)
	}
	return nil
}

// decode takes one JSON document of known fields, and nothing more.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// unread is a body that did not come, or too much of it.
func unread(err error) error {
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return err
	}
	return badRequest("the body cannot be read: %v", err)
}
