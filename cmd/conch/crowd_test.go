//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd requests transactions from any node that answers. Its callers repeat a request that is
// not answered, with the same key.
type crowd struct {
	t    testing.TB
	apis func() []string // base URLs of the nodes that may answer now

	mu      sync.Mutex
	asked   map[string]string // deeds of acknowledged requests, by ID
	last    time.Time         // when the latest acknowledged request began
	refused map[int]int       // failed requests by HTTP status; 0: no answer
}

func newCrowd(t testing.TB, apis func() []string) *crowd {
	return &crowd{t: t, apis: apis, asked: map[string]string{}, refused: map[int]int{}}
}

// numbered returns the body of a request for transaction n, and its deed.
func numbered(n int) (body, does string) {
	data := fmt.Sprintf("0x%08x", n+1)
	return fmt.Sprintf(`{"account":"payer","to":%q,"value":"1","data":%q,"idempotency_key":%q}`, nobodysAddress, data, data), deed(nobodysAddress, "1", data)
}

// wants requests transactions from one number to below another, by several callers at once, and
// returns when all are acknowledged.
func (c *crowd) wants(from, to int) {
	c.t.Helper()
	const callers = 8
	var asking sync.WaitGroup
	for caller := range callers {
		asking.Go(func() {
			for n := from + caller; n < to; n += callers {
				if !c.insists(n) {
					return
				}
			}
		})
	}
	asking.Wait()
}

// insists asks one node after another for a transaction until it is acknowledged.
func (c *crowd) insists(n int) (answered bool) {
	body, does := numbered(n)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(longPatience)
	defer deadline.Stop()
	for turn := rand.Int(); ; turn++ {
		apis := c.apis()
		status, id, began := 0, "", time.Now()
		if len(apis) > 0 {
			status, id = ask(apis[turn%len(apis)], body)
		}
		c.mu.Lock()
		if status == http.StatusAccepted {
			if before, known := c.asked[id]; known && before != does {
				c.t.Errorf("%s was acknowledged for two calls", id)
			}
			c.asked[id] = does
			if began.After(c.last) {
				c.last = began
			}
			c.mu.Unlock()
			return true
		}
		c.refused[status]++
		c.mu.Unlock()
		select {
		case <-poll.C:
		case <-c.t.Context().Done():
			return false // the test is over, and says why
		case <-deadline.C:
			c.t.Errorf("transaction %d was never acknowledged", n)
			return false
		}
	}
}

// acknowledged returns all deeds acknowledged so far, by ID.
func (c *crowd) acknowledged() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.asked)
}

// asksInVain reports whether no request that began after since was acknowledged.
func (c *crowd) asksInVain(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.last.After(since)
}

// impatient does not wait for a stopped node.
var impatient = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// ask returns the status and, if the request was accepted, the ID; 0 for no answer.
func ask(api, body string) (status int, id string) {
	answer, err := impatient.Post(api+"/v1/transactions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	var out struct{ ID string }
	if err != nil || json.Unmarshal(text, &out) != nil {
		return 0, ""
	}
	return answer.StatusCode, out.ID
}
