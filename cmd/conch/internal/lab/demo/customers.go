//go:build unix

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

const (
	customerCount = 4
	customerPace  = 200 * time.Millisecond // of each
	answerMost    = 2 * time.Second        // then another node is asked
	askAgain      = 20 * time.Millisecond
	// Of so many wishes, one is asked for by somebody who hangs up at once and asks
	// elsewhere by the same key, which a kill does only by chance, and one by somebody
	// who does not believe the first answer.
	oddEvery  = 10
	hangsUp   = 4
	doubts    = 9
	hastyMost = time.Millisecond
	// Where the money goes, one unit a transaction.
	payee = "0x000000000000000000000000000000000000c0c4"
)

// customers want transactions. Each wish goes to one node after the other, whoever
// leads, by one key, until one of them answers.
type customers struct {
	nodes []*http.Client

	mu      sync.Mutex
	wishes  []evidence.Wish
	again   int // how often a node did not answer, so that another was asked
	refused error

	asking  context.CancelFunc // ends new wishes
	hoping  context.CancelFunc // ends all attempts
	working sync.WaitGroup
	over    chan struct{} // closed when all wishes are answered or given up
}

// newCustomers knows each node by the socket of its API.
func newCustomers(sockets []string) *customers {
	c := &customers{over: make(chan struct{})}
	for _, path := range sockets {
		c.nodes = append(c.nodes, &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			},
		}})
	}
	return c
}

// open lets them in.
func (c *customers) open(ctx context.Context) {
	hope, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	ask, stop := context.WithCancel(hope)
	c.asking, c.hoping = stop, giveUp
	for n := range customerCount {
		c.working.Go(func() { c.shop(ask, hope, n) })
	}
	go func() {
		c.working.Wait()
		close(c.over)
	}()
}

// close ends all attempts, answered or not.
func (c *customers) close() {
	if c.hoping == nil {
		return
	}
	c.hoping()
	<-c.over
	for _, node := range c.nodes {
		node.CloseIdleConnections()
	}
}

// shop is one customer's life.
func (c *customers) shop(ask, hope context.Context, n int) {
	tick := time.NewTicker(customerPace * time.Duration(n+1) / customerCount) // not all at once
	defer tick.Stop()
	for ; ; n += customerCount {
		select {
		case <-ask.Done():
			return
		case <-tick.C:
			tick.Reset(customerPace)
			c.want(hope, n)
		}
	}
}

// want has the nth wish fulfilled: it asks until a node has answered, or, if the
// customer doubts, until two have.
func (c *customers) want(hope context.Context, n int) {
	const value = "1"
	data := fmt.Sprintf("0x%016x", n)
	w := evidence.Wish{Key: fmt.Sprintf("demo-%d", n), Deed: evidence.Deed(payee, value, data)}
	call := map[string]string{"account": "payer", "to": payee, "value": value, "data": data, "idempotency_key": w.Key}
	c.mu.Lock()
	at := len(c.wishes)
	c.wishes = append(c.wishes, w)
	c.mu.Unlock()
	missing := 1
	if n%oddEvery == doubts {
		missing = 2
	}
	for try := 0; missing > 0 && hope.Err() == nil; try++ {
		patience := answerMost
		if try == 0 && n%oddEvery == hangsUp {
			patience = hastyMost
		}
		ctx, cancel := context.WithTimeout(hope, patience)
		id, err := post(ctx, c.nodes[(n+try)%len(c.nodes)], call)
		cancel()
		if c.note(at, id, err) {
			missing--
			continue
		}
		if _, no := errors.AsType[*refusedError](err); no {
			return
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-pause.C:
		case <-hope.Done():
			pause.Stop()
		}
	}
}

// note records what came of asking for a wish, and tells whether that was an ID.
func (c *customers) note(at int, id string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.wishes[at]
	_, no := errors.AsType[*refusedError](err)
	switch {
	case no:
		c.refused = fmt.Errorf("%s: %w", w.Key, err)
	case err != nil:
		c.again++
	case !slices.Contains(w.IDs, id):
		w.IDs = append(w.IDs, id)
	}
	return err == nil
}

// refusedError is a node's answer that asking again would not change.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("a node refused a sound transaction: %d %s", e.status, e.text)
}

// post asks one node. What goes wrong on the way leaves open whether it was accepted.
func post(ctx context.Context, node *http.Client, call map[string]string) (id string, err error) {
	body, err := json.Marshal(call)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/transactions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := node.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	var accepted struct{ ID string }
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		return "", fmt.Errorf("the node says %s", answer.Status)
	case answer.StatusCode != http.StatusAccepted:
		return "", &refusedError{answer.StatusCode, string(text)}
	}
	if err := json.Unmarshal(text, &accepted); err != nil || accepted.ID == "" {
		return "", &refusedError{answer.StatusCode, string(text)}
	}
	return accepted.ID, nil
}

// asked counts: wishes, and how often another node had to be asked.
func (c *customers) asked() (wishes, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.wishes), c.again
}

// complaint is what no customer may ever hear, nil if none did.
func (c *customers) complaint() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}
