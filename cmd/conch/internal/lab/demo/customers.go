//go:build unix

package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
)

const (
	customerCount = 4
	customerPace  = 200 * time.Millisecond // per customer
	// payee receives one unit per transaction.
	payee = "0x000000000000000000000000000000000000c0c4"
)

// customers send requests. Each request goes to one node after the other under one key,
// whichever node leads, until a node answers.
type customers struct {
	nodes []*nodeapi.Node

	mu       sync.Mutex
	requests []evidence.Request
	again    int // how often a request went to another node for lack of an answer
	refused  error

	stopAsking  context.CancelFunc
	cancelTries context.CancelFunc
	working     sync.WaitGroup
	over        chan struct{} // closed when each request is answered or given up
}

// newCustomers takes the paths of the nodes' API sockets.
func newCustomers(sockets []string) *customers {
	c := &customers{over: make(chan struct{})}
	for _, path := range sockets {
		c.nodes = append(c.nodes, nodeapi.Listening("unix:"+path, 0, 0))
	}
	return c
}

func (c *customers) start(ctx context.Context) {
	trying, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	asking, stop := context.WithCancel(trying)
	c.stopAsking, c.cancelTries = stop, giveUp
	for n := range customerCount {
		c.working.Go(func() { c.run(asking, trying, n) })
	}
	go func() {
		c.working.Wait()
		close(c.over)
	}()
}

// close ends all attempts, answered or not, and waits for the customers.
func (c *customers) close() {
	if c.cancelTries == nil {
		return
	}
	c.cancelTries()
	<-c.over
	for _, node := range c.nodes {
		node.Close()
	}
}

// run makes a customer's requests until asking ends.
func (c *customers) run(asking, trying context.Context, n int) {
	tick := time.NewTicker(customerPace * time.Duration(n+1) / customerCount) // customers start at different times
	defer tick.Stop()
	for ; ; n += customerCount {
		select {
		case <-asking.Done():
			return
		case <-tick.C:
			tick.Reset(customerPace)
			c.request(trying, n)
		}
	}
}

// request makes the nth request and repeats it until a node has answered, or two nodes if
// the customer doubts.
func (c *customers) request(trying context.Context, n int) {
	const value = "1"
	data := fmt.Sprintf("0x%016x", n)
	w := evidence.Request{Key: fmt.Sprintf("demo-%d", n), Deed: evidence.Deed(payee, value, data)}
	call := map[string]string{"account": "payer", "to": payee, "value": value, "data": data, "idempotency_key": w.Key}
	c.mu.Lock()
	at := len(c.requests)
	c.requests = append(c.requests, w)
	c.mu.Unlock()
	nodeapi.Insist(trying, n, func(ctx context.Context, try int) (done, final bool) {
		id, err := post(ctx, c.nodes[(n+try)%len(c.nodes)], call)
		_, final = errors.AsType[*nodeapi.RefusedError](err)
		return c.note(at, id, err), final
	})
}

// note records the outcome of one attempt, and reports whether a node acknowledged it.
func (c *customers) note(at int, id string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.requests[at]
	_, no := errors.AsType[*nodeapi.RefusedError](err)
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

// post sends a request to one node. After an error other than a RefusedError it may have been accepted or not.
func post(ctx context.Context, node *nodeapi.Node, call map[string]string) (id string, err error) {
	var accepted struct{ ID string }
	err = node.Ask(ctx, http.MethodPost, "/v1/transactions", call, &accepted)
	if err == nil && accepted.ID == "" {
		err = &nodeapi.RefusedError{Status: http.StatusAccepted, Text: "it names no transaction"}
	}
	return accepted.ID, err
}

// asked returns how many requests were made, and how often one went to another node.
func (c *customers) asked() (requests, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests), c.again
}

// refusal returns the refusal of a valid request, or nil.
func (c *customers) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}
