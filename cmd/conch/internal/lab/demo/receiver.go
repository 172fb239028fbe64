//go:build unix

package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/webhook"
)

// receiver is a shop that is told what becomes of transactions, by whichever node leads that. It checks signatures, and refuses each
// mostTaken-th message, so that some are told again.
type receiver struct {
	url    string
	key    []byte
	server *http.Server

	mu    sync.Mutex
	hook  evidence.Hook
	ended map[string]bool // transactions of which it knows the end
	came  int
}

const (
	mostTaken   = 64      // messages before one is refused
	mostMessage = 1 << 20 // bytes
)

// newReceiver listens on this host. Its secret is written to a file that only its owner can read.
func newReceiver(ctx context.Context, secret string) (*receiver, error) {
	r := &receiver{key: make([]byte, 32), ended: map[string]bool{}}
	_, _ = rand.Read(r.key) // never fails
	if err := os.WriteFile(secret, []byte("whsec_"+base64.StdEncoding.EncodeToString(r.key)+"\n"), 0o600); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.url = "http://" + l.Addr().String()
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }() // it ends when we close it
	return r, nil
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, mostMessage))
	if err != nil {
		return // it did not come whole
	}
	w.WriteHeader(r.take(req.Header, body))
}

// take takes a message, and returns the status of the answer.
func (r *receiver) take(h http.Header, body []byte) int {
	var message struct {
		Data struct {
			ID, Event string
			Version   uint64
		}
	}
	at, _ := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	want := http.Header{}
	webhook.Sign(want, h.Get("webhook-id"), time.Unix(at, 0), body, r.key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.Get("webhook-signature") != want.Get("webhook-signature") || json.Unmarshal(body, &message) != nil {
		r.hook.Forged++
		return http.StatusUnauthorized
	}
	if r.came++; r.came%mostTaken == 0 {
		return http.StatusServiceUnavailable
	}
	e := message.Data
	r.hook.Told = append(r.hook.Told, evidence.Told{ID: e.ID, Version: e.Version, Event: e.Event})
	if e.Event == "final" || e.Event == "rejected" {
		r.ended[e.ID] = true
	}
	return http.StatusNoContent
}

// ends returns of how many transactions it knows the end.
func (r *receiver) ends() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ended)
}

// told returns what it was told.
func (r *receiver) told() *evidence.Hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &evidence.Hook{Told: r.hook.Told, Forged: r.hook.Forged}
}
