// Package oldhead is a proxy between one user and the node of an EVM chain. While it is told to, the chain stands still for
// that user: the proxy answers as a node does that hears of no new block, and takes transactions all the same.
package oldhead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// patience is for one question to a local node.
const patience = 10 * time.Second

// Proxy is safe for concurrent use.
type Proxy struct {
	node     string // its URL
	client   *http.Client
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup

	mu   sync.Mutex
	held *held // nil: everything passes
}

// held is the chain as it was.
type held struct{ head, final uint64 }

// New listens on a free local port, for the node at a URL.
func New(node string) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{node: node, client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, listener: listener}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: patience}
	p.serving.Go(func() { _ = p.server.Serve(listener) }) // until Close
	return p, nil
}

// URL is where the user asks.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Close ends it.
func (p *Proxy) Close() {
	_ = p.server.Close()
	p.serving.Wait()
	p.client.CloseIdleConnections()
}

// Hold has the chain stand still, and returns the number of its head.
func (p *Proxy) Hold(ctx context.Context) (head uint64, err error) {
	var h held
	if h.head, err = p.height(ctx, "latest"); err != nil {
		return 0, err
	}
	if h.final, err = p.height(ctx, "finalized"); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = &h
	return h.head, nil
}

// Head returns the number of the chain's own head.
func (p *Proxy) Head(ctx context.Context) (uint64, error) { return p.height(ctx, "latest") }

// LetGo ends Hold. The user sees all blocks of the meantime at once.
func (p *Proxy) LetGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = nil
}

func (p *Proxy) height(ctx context.Context, tag string) (uint64, error) {
	a := p.ask(ctx, call{ID: json.RawMessage("1"), Method: "eth_getBlockByNumber", Params: []json.RawMessage{quoted(tag), json.RawMessage("false")}})
	n, known := a.number("number")
	if !known {
		return 0, fmt.Errorf("the chain has no block %s: %s", tag, a.Error)
	}
	return n, nil
}

// call is a question, alone or in a batch.
type call struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

// answer has a result or an error.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// ServeHTTP answers for the node.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = p.answer(r.Context(), body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // its client may be gone
}

func (p *Proxy) answer(ctx context.Context, body []byte) ([]byte, error) {
	p.mu.Lock()
	h := p.held
	p.mu.Unlock()
	if h == nil {
		return p.post(ctx, body)
	}
	if batch := bytes.TrimLeft(body, " \t\r\n"); len(batch) > 0 && batch[0] != '[' {
		var c call
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, err
		}
		return json.Marshal(h.answer(c, func(c call) answer { return p.ask(ctx, c) }))
	}
	var calls []call
	if err := json.Unmarshal(body, &calls); err != nil {
		return nil, err
	}
	answers := make([]answer, len(calls))
	for i, c := range calls {
		answers[i] = h.answer(c, func(c call) answer { return p.ask(ctx, c) })
	}
	return json.Marshal(answers)
}

// ask asks the node. Its failures become errors of the answer.
func (p *Proxy) ask(ctx context.Context, c call) (a answer) {
	c.Version = "2.0"
	body, err := json.Marshal(c)
	if err == nil {
		body, err = p.post(ctx, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return failure(c, err.Error())
	}
	return a
}

func failure(c call, text string) answer {
	out, _ := json.Marshal(map[string]any{"code": -32000, "message": text}) //nolint:errchkjson // it has a form
	return answer{Version: "2.0", ID: c.ID, Error: out}
}

func (p *Proxy) post(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.node, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	said, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(said.Body)
	return text, errors.Join(err, said.Body.Close())
}

// number returns a number of an answer's object.
func (a answer) number(field string) (n uint64, known bool) {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(a.Result, &fields) != nil || json.Unmarshal(fields[field], &text) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return n, err == nil
}
