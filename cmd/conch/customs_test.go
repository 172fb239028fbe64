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

// customs is the border between a conch node and the chain's: whoever carries signed
// bytes is looked at, and can be kept. It lets nothing pass that is not in the
// database, which is the promise that everything else rests on.
type customs struct {
	t   testing.TB
	url string
	to  *devnode
	db  string

	mu     sync.Mutex
	asked  func()                   // called about everything that brings signed bytes
	leave  func(*http.Request) bool // asked before the bytes go on; no: the line breaks
	arrive func(*http.Request) bool // asked before the answer goes back
	sent   []string                 // the bytes that came by, in order
}

func newCustoms(t testing.TB, to *devnode, db string) *customs {
	c := &customs{t: t, to: to, db: db}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// keep stops whoever brings signed bytes until the line ends, before they go on or
// after; the channel is closed with the first.
func (c *customs) keep(after bool) <-chan struct{} {
	return c.keepUntil(after, nil)
}

// keepUntil lets them go on when the channel is closed.
func (c *customs) keepUntil(after bool, over <-chan struct{}) <-chan struct{} {
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

// asks has a question asked about everything that brings signed bytes.
func (c *customs) asks(question func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = question
}

// open lets everybody go on.
func (c *customs) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave, c.arrive = nil, nil
}

// passed are the bytes that came by.
func (c *customs) passed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// ServeHTTP implements http.Handler.
func (c *customs) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
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
		panic(http.ErrAbortHandler) // nobody there, or kept: the line breaks
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
}

// declared checks that the bytes are in the database, committed, before they go on. A
// database that is away is waited for: it is where the truth is.
func (c *customs) declared(carried []string) {
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
			c.t.Errorf("bytes left before they were stored: of %d only %d are in the database", len(raw), known)
			return
		case err == nil:
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			c.t.Errorf("whether bytes are stored cannot be asked: %v", err)
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

// attempts are the hashes stored for each nonce, in the order of their signing.
func attempts(t testing.TB, db *pgtest.DB) map[uint64][]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL) // not one that lasts as long as the test: some ask often
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
