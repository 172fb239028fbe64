package chunksync

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// client sends requests to peers in the name of one tenure.
type client struct {
	cfg    Config
	tenure Tenure
}

var errOther = errors.New("another node answers at the peer's URL")

func (c *client) promise(ctx context.Context, peer string) (held Version, damaged bool, err error) {
	var out heldAnswer
	err = c.ask(ctx, peer, "/promise", promiseJSON{c.tenure, c.cfg.ID}, &out)
	return out.Held, out.Damaged, err
}

func (c *client) offer(ctx context.Context, peer string, what offerRequest) (missing []Hash, held Version, err error) {
	var out heldAnswer
	what.Holder = c.cfg.ID
	err = c.ask(ctx, peer, "/catalog", what, &out)
	return out.Missing, out.Held, err
}

func (c *client) ask(ctx context.Context, peer, path string, body any, out *heldAnswer) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answered, err := c.exchange(ctx, http.MethodPost, peer, path, bytes.NewReader(text), int64(len(text)), maxCatalog)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answered, out); err != nil {
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	// Otherwise one node could count as two copies, and the leader as its own follower.
	if out.ID != peer {
		return fmt.Errorf("%w: %.80q instead of %q", errOther, out.ID, peer)
	}
	return nil
}

// send sends a chunk as it is on the disk, since the peer verifies it.
func (c *client) send(ctx context.Context, peer string, h Hash) error {
	chunk, size, err := c.cfg.Store.disk.openChunk(h)
	if err != nil {
		return err
	}
	_, err = c.exchange(ctx, http.MethodPut, peer, "/chunks/"+h.String(), chunk, size, maxPromise)
	return err
}

func (c *client) catalog(ctx context.Context, peer string) (catalog, error) {
	text, err := c.exchange(ctx, http.MethodGet, peer, "/catalog", nil, 0, maxCatalog)
	if err != nil {
		return catalog{}, err
	}
	return parseCatalog(text)
}

func (c *client) chunk(ctx context.Context, peer string, h Hash) ([]byte, error) {
	chunk, err := c.exchange(ctx, http.MethodGet, peer, "/chunks/"+h.String(), nil, 0, ChunkSize)
	if err == nil && hashOf(chunk) != h {
		err = errMismatch
	}
	return chunk, err
}

// exchange sends a request with a body of size bytes and returns the answer, which may have
// up to most bytes. It returns a *[StaleError] if the peer has promised another leader (409),
// and errRefused if it refuses the request for another reason.
// The body may be a file, which is then sent by the kernel and closed.
func (c *client) exchange(ctx context.Context, method, peer, path string, body io.Reader, size, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Longest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.Peers[peer]+path, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	if f, is := body.(*os.File); is { // for a connection that the peer has just closed
		req.GetBody = func() (io.ReadCloser, error) { return os.Open(f.Name()) }
	}
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(epochHeader, strconv.FormatInt(c.tenure.Epoch, 10))
	req.Header.Set(termHeader, c.tenure.Term.String())
	res, err := c.cfg.Client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("the answer has more than %d bytes", most)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, complaint(c.tenure, res, text)
	}
	return text, nil
}

func complaint(tenure Tenure, res *http.Response, text []byte) error {
	var p problem
	_ = json.Unmarshal(text, &p) // a proxy may have answered
	if res.StatusCode == http.StatusConflict && p.Type == "urn:conch:problem:stale" {
		return &StaleError{Got: tenure, Holder: p.Holder}
	}
	err := fmt.Errorf("the peer answered %s: %.200q", res.Status, p.Detail)
	if res.StatusCode < http.StatusInternalServerError {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}
