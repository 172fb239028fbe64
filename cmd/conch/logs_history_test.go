//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog/kv/kvtest"
)

// chronicle is what clients were told.
type chronicle struct {
	t     *testing.T
	began time.Time
	turns bool                     // other keys every ten seconds: what one key was told in hours nobody can check
	apis  []atomic.Pointer[string] // of each machine, where it has answered last

	mu    sync.Mutex
	since uint64 // the newest entry of an answer
	all   []kvtest.Operation
	again int
}

func newChronicle(t *testing.T, s *machines) *chronicle {
	c := &chronicle{t: t, began: time.Now(), since: s.all[0].logOf().Position.Index, apis: make([]atomic.Pointer[string], len(s.all))}
	for i := range s.all {
		c.found(s, i)
	}
	return c
}

// run has clients ask until they are to stop.
func (c *chronicle) run(stop <-chan struct{}, many int) {
	var clients sync.WaitGroup
	for client := range many {
		clients.Go(func() { c.uses(stop, client) })
	}
	clients.Wait()
}

// found notes where a machine answers.
func (c *chronicle) found(s *machines, i int) {
	api := s.all[i].api() + "/v1/logs/flags"
	c.apis[i].Store(&api)
}

// goesOn waits until so many more operations have ended.
func (c *chronicle) goesOn(more int) {
	c.t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.all)
	}
	want := count() + more
	pgtest.Eventually(c.t, longPatience, "the clients are answered", func() bool { return count() >= want })
}

// uses has a client ask for one thing after the other until it is to stop. What it hears nothing of it asks again, with the same id and
// at the next machine.
func (c *chronicle) uses(stop <-chan struct{}, client int) {
	dice := rand.New(rand.NewPCG(uint64(client), 25))
	at := client
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		o := kvtest.Operation{Client: client, Do: drawn(dice), Call: int64(time.Since(c.began)), Return: kvtest.Never}
		if c.turns {
			o.Do.Key += fmt.Sprint(time.Since(c.began) / (10 * time.Second))
		}
		c.mu.Lock()
		since := c.since
		c.mu.Unlock()
		for tries := 0; ; tries++ {
			got, known, err := c.asks(at, fmt.Sprintf("c%d-%d", client, n), since, o.Do)
			if err != nil {
				c.t.Error(err)
				return
			}
			if known {
				o.Got, o.Return = got, int64(time.Since(c.began))
			}
			if c.mu.Lock(); known || c.t.Context().Err() != nil {
				c.all = append(c.all, o)
				c.again += min(tries, 1)
				c.mu.Unlock()
				break
			}
			c.mu.Unlock()
			at++
			_ = pause.For(c.t.Context(), 50*time.Millisecond)
		}
		_ = pause.For(c.t.Context(), 10*time.Millisecond)
	}
}

// drawn is what a client might ask for.
func drawn(dice *rand.Rand) kvtest.Do {
	d := kvtest.Do{Key: string(rune('a' + dice.IntN(2))), By: 1 + dice.Int64N(3), Value: fmt.Sprint(dice.IntN(3))}
	switch d.Op = []string{"put", "add", "add", "cas", "delete", "get", "get"}[dice.IntN(7)]; d.Op {
	case "cas":
		d.Expect = fmt.Sprint(dice.IntN(3))
	case "put":
	default:
		d.Value = ""
	}
	return d
}

// asks asks a machine, and reports whether it knows what became of it.
func (c *chronicle) asks(at int, id string, since uint64, d kvtest.Do) (got kvtest.Got, known bool, err error) {
	api := *c.apis[at%len(c.apis)].Load()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	var req *http.Request
	if d.Op == "get" {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, api+"/state?fresh=1&query="+url.QueryEscape(d.Query()), nil)
	} else {
		body := fmt.Appendf(nil, `{"goal_id":%q,"since":%d,"goal":%s}`, id, since, d.Goal())
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, api+"/goals", bytes.NewReader(body))
	}
	if err != nil {
		return got, false, err
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return got, false, nil // it is dead, or does not answer
	}
	defer func() { _ = res.Body.Close() }()
	var told struct {
		Result, Answer json.RawMessage
		Fault, Detail  string
		Index          uint64
	}
	switch err := json.NewDecoder(res.Body).Decode(&told); {
	case err != nil, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusTooManyRequests:
		return got, false, nil
	case res.StatusCode != http.StatusOK:
		return got, false, fmt.Errorf("%s %+v: %s %s", id, d, res.Status, told.Detail)
	}
	c.mu.Lock()
	c.since = max(c.since, told.Index)
	c.mu.Unlock()
	var text bytes.Buffer
	if raw := slices.Concat(told.Result, told.Answer); len(raw) > 0 {
		if err := json.Compact(&text, raw); err != nil {
			return got, false, err
		}
	}
	return kvtest.Got{Result: text.String(), Fault: told.Fault}, true, nil
}
