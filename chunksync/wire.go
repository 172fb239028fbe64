package chunksync

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// The messages between nodes, where a tenure is called reign. A catalog, or its change since
// the one that the peer holds, is offered until no chunk is missing; the offer that finds none
// missing is the commit.
type (
	offerRequest struct {
		Holder  string          `json:"holder"`
		Catalog json.RawMessage `json:"catalog,omitempty"`
		Change  json.RawMessage `json:"change,omitempty"` // instead of Catalog
	}
	heldAnswer struct {
		ID      string  `json:"id"` // the answering node
		Held    Version `json:"held"`
		Damaged bool    `json:"damaged,omitempty"` // chunks of Held are missing
		Missing []Hash  `json:"missing,omitempty"`
	}
)

const (
	epochHeader = "Conch-Epoch"
	termHeader  = "Conch-Term"
	maxPromise  = 4 << 10
	maxHolder   = 256
)

func limitOf(r *http.Request) int64 {
	switch {
	case strings.HasSuffix(r.URL.Path, "/catalog"):
		return maxCatalog + maxPromise
	case strings.Contains(r.URL.Path, "/chunks/"):
		return ChunkSize
	}
	return maxPromise
}

func read(r *http.Request, to any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return readError(err)
	}
	if err := decode(text, to); err != nil {
		return badRequest("the body cannot be decoded: %v", err)
	}
	return nil
}

// decode accepts exactly one JSON document without unknown fields.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data follows the JSON document")
	}
	return nil
}

// readError turns a failed read of a body into a refusal.
func readError(err error) error {
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return err
	}
	return badRequest("the body cannot be read: %v", err)
}
