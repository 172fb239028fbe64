//go:build unix

package main_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// holdingProxy is a proxy between a conch node and the chain's. It checks that all signed bytes are
// in the database before they pass, on which everything else depends, and can hold requests.
type holdingProxy struct {
	t   testing.TB
	url string
	to  *devnode
	db  string

	mu     sync.Mutex
	asked  func()                   // called for each request with signed bytes
	leave  func(*http.Request) bool // called before such a request goes on; false breaks the connection
	arrive func(*http.Request) bool // called before its answer goes back; false likewise
	sent   []string                 // all signed bytes that were sent, in order
}

func newHoldingProxy(t testing.TB, to *devnode, db string) *holdingProxy {
	c := &holdingProxy{t: t, to: to, db: db}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// keep holds requests with signed bytes until the connection ends: before they go on, or before
// the answer goes back. The channel is closed at the first.
func (c *holdingProxy) keep(after bool) <-chan struct{} {
	return c.keepUntil(after, nil)
}

// keepUntil is keep, but lets the requests go on when over is closed.
func (c *holdingProxy) keepUntil(after bool, over <-chan struct{}) <-chan struct{} {
	stopped := make(chan struct{})
	var first sync.Once
	stop := func(r *http.Request) bool {
		first.Do(func() { close(stopped) })
		select {
		case <-over:
			return true
		case <-r.Context().Done():
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if after {
		c.arrive = stop
	} else {
		c.leave = stop
	}
	return stopped
}

// asks sets a function to call for each request with signed bytes.
func (c *holdingProxy) asks(question func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = question
}

// open lets later requests pass.
func (c *holdingProxy) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave, c.arrive = nil, nil
}

// passed returns all signed bytes that were sent.
func (c *holdingProxy) passed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// ServeHTTP implements http.Handler.
func (c *holdingProxy) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	calls, _ := parseCalls(body)
	carried := signedIn(calls)
	c.mu.Lock()
	asked, leave, arrive := c.asked, c.leave, c.arrive
	c.sent = append(c.sent, carried...)
	c.mu.Unlock()
	if len(carried) > 0 {
		c.declared(carried)
		if asked != nil {
			asked()
		}
		if leave != nil && !leave(r) {
			panic(http.ErrAbortHandler)
		}
	}
	text, err := c.to.takes(body)
	if err != nil || len(carried) > 0 && arrive != nil && !arrive(r) {
		panic(http.ErrAbortHandler) // no answer, or held: break the connection
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
}

// declared checks that bytes are committed before they go on. It waits for an absent database.
func (c *holdingProxy) declared(carried []string) {
	raw := make([][]byte, len(carried))
	for i, text := range carried {
		raw[i], _ = hex.DecodeString(strings.TrimPrefix(text, "0x"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		known, err := countStored(ctx, c.db, raw)
		switch {
		case err == nil && known != len(raw):
			c.t.Errorf("bytes of %d transactions are sent and those of %d are in the database, want all stored first", len(raw), known)
			return
		case err == nil:
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			c.t.Errorf("cannot ask whether bytes are stored: %v", err)
			return
		}
	}
}

func countStored(ctx context.Context, db string, raw [][]byte) (n int, err error) {
	conn, err := pgx.Connect(ctx, db)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, `SELECT count(*) FROM unnest($1::bytea[]) AS b(b) WHERE EXISTS (SELECT FROM conch.pending_attempts WHERE signed = b)`, raw).Scan(&n)
	return n, err
}

// attempts returns the hashes stored for each nonce, in the order of their signing.
func attempts(t testing.TB, db *pgtest.DB) map[uint64][]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL) // closed at once: some tests call this often
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `SELECT nonce, '0x' || encode(hash, 'hex') FROM conch.pending_attempts ORDER BY nonce, n`)
	all := map[uint64][]string{}
	var nonce int64
	var hash string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&nonce, &hash}, func() error {
			all[uint64(nonce)] = append(all[uint64(nonce)], hash)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
