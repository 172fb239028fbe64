//go:build unix

package consortium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/internal/pause"
)

const (
	pace      = 250 * time.Millisecond // of the customers of one organisation
	mostOpen  = 20                     // of one organisation; then its customers wait
	lookEvery = 300 * time.Millisecond
	askAgain  = 100 * time.Millisecond

	purseNotes = 6   // that are issued to a purse at the beginning
	noteAmount = 500 // of each: no purse runs dry

	// Of every oddEvery requests, the one numbered hopeless pays from an empty purse, and is cancelled; the one numbered
	// regretted is cancelled as soon as it is accepted, and the one numbered hurried is of use for some blocks only, so that
	// these two may land or not.
	oddEvery    = 12
	hopeless    = 5
	regretted   = 9
	hurried     = 2
	hurriedMost = 4 // blocks from the head on
	empty       = "void"
)

// purses are those that all organisations pay from.
var purses = []string{"rent", "wages", "stock"}

// customers are those of one organisation. They ask its node and remember what it says.
type customers struct {
	of       *organisation
	place    int // of the organisation among the members
	contract string

	mu        sync.Mutex
	requests  []auditor.Request
	deadlines []uint64        // of the requests
	regrets   map[string]bool // by key: to be cancelled until it has ended
	first     map[string]end  // by ID
	fates     map[string]int  // how many have which fate, by the last answer
	status    status
	heard     time.Time // the last status
	refused   error
	again     int // requests that are to be asked for anew

	working sync.WaitGroup
}

func newCustomers(of *organisation, place int, contract string) *customers {
	return &customers{of: of, place: place, contract: contract, regrets: map[string]bool{}, first: map[string]end{}, fates: map[string]int{}}
}

// end is the first end that a node told of a transaction.
type end struct {
	fate string
	at   time.Time
}

// payload is the nth request of the organisation's customers, in its one form.
func (c *customers) payload(n int) string {
	from, to := purses[(n+c.place)%len(purses)], purses[(n+c.place+1)%len(purses)]
	if n%oddEvery == hopeless {
		from = empty
	}
	return fmt.Sprintf(`{"pay":{"from":%q,"to":%q,"amount":%d}}`, from, to, 1+n%9)
}

func (c *customers) pays(asking, looking context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-asking.Done():
			return
		case <-tick.C:
		}
		if c.open() >= mostOpen {
			continue
		}
		deadline := uint64(0)
		if n%oddEvery == hurried {
			deadline = c.seen().Head + hurriedMost
		}
		c.request(looking, fmt.Sprintf("payment-%d", n), c.payload(n), deadline, n%oddEvery == hopeless || n%oddEvery == regretted)
		n++
	}
}

// open counts the requests that have no end yet, as far as is known.
func (c *customers) open() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.requests {
		if !c.over(q) {
			n++
		}
	}
	return n
}

// over reports whether a request has ended, by the last ID that it got: a restored node forgets those before it. The caller
// holds the lock.
func (c *customers) over(q auditor.Request) bool {
	return len(q.Acks) > 0 && c.first[q.Acks[len(q.Acks)-1].ID].fate != ""
}

// request asks the node under one key until it answers. The deadline is the last block of use; 0: any.
func (c *customers) request(ctx context.Context, key, payload string, deadline uint64, regret bool) {
	c.mu.Lock()
	at := len(c.requests)
	c.requests = append(c.requests, auditor.Request{Owner: c.of.account, Key: key, Payload: payload, Ends: regret || deadline > 0})
	c.deadlines = append(c.deadlines, deadline)
	if regret {
		c.regrets[key] = true
	}
	c.mu.Unlock()
	c.askFor(ctx, at)
}

// askFor asks the node for a request, under its key, until it answers.
func (c *customers) askFor(ctx context.Context, at int) {
	c.mu.Lock()
	key, payload, deadline := c.requests[at].Key, c.requests[at].Payload, c.deadlines[at]
	turn := len(c.requests[at].Asked)
	c.requests[at].Asked = append(c.requests[at].Asked, auditor.Asking{From: time.Now()})
	c.mu.Unlock()
	body := map[string]any{"request": json.RawMessage(payload), "idempotency_key": key, "deadline": deadline}
	var said struct{ ID string }
	path := "/v1/contracts/" + c.contract + "/transactions"
	for ctx.Err() == nil {
		err := c.of.api.Ask(ctx, http.MethodPost, path, body, &said)
		_, refused := errors.AsType[*nodeapi.RefusedError](err)
		c.mu.Lock()
		if err == nil || refused {
			c.requests[at].Asked[turn].To = time.Now()
		}
		switch {
		case refused:
			c.refused = fmt.Errorf("%s of %s: %w", key, c.of.Name, err)
		case err == nil && !slices.ContainsFunc(c.requests[at].Acks, func(a auditor.Ack) bool { return a.ID == said.ID }):
			c.requests[at].Acks = append(c.requests[at].Acks, auditor.Ack{ID: said.ID, At: time.Now()})
		}
		c.mu.Unlock()
		if err == nil || refused {
			return
		}
		_ = pause.For(ctx, askAgain)
	}
}
