package substratetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Endpoint is an address at which the node is served, with faults of its own. Its methods are safe for concurrent use.
type Endpoint struct {
	node   *Node
	url    string
	server *http.Server
	ctx    context.Context //nolint:containedctx // of all connections, ended by close
	end    context.CancelFunc
	tasks  sync.WaitGroup

	// The node's lock guards the rest.
	conns               map[*conn]bool
	toldHead, toldFinal *block
	lag                 int
	mixed               []int
	turn                int
	lies, silent, down  bool
	lose                int
	answers             map[string]*rpcError
	calls               map[string]int
	made                uint64 // subscriptions, which makes their ids differ
}

// Endpoint opens another endpoint of the node.
func (n *Node) Endpoint() (*Endpoint, error) {
	listener, err := n.cfg.Listen()
	if err != nil {
		return nil, fmt.Errorf("substratetest: %w", err)
	}
	e := &Endpoint{node: n, url: "ws://" + listener.Addr().String(), conns: map[*conn]bool{}, answers: map[string]*rpcError{}, calls: map[string]int{}}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second, ConnState: func(_ net.Conn, state http.ConnState) {
		switch state { // so that close waits for the server's own goroutines
		case http.StateNew:
			e.tasks.Add(1)
		case http.StateClosed, http.StateHijacked:
			e.tasks.Done()
		case http.StateActive, http.StateIdle:
		}
	}}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errors.Join(errors.New("substratetest: the node is closed"), listener.Close())
	}
	v := e.view(0)
	e.toldHead, e.toldFinal = v.head, v.final
	n.endpoints = append(n.endpoints, e)
	e.tasks.Go(func() { _ = e.server.Serve(listener) })
	return e, nil
}

// URL returns the endpoint's, ws://….
func (e *Endpoint) URL() string { return e.url }

// Lag lets the endpoint be a node that is so many blocks behind: what is above its head it does not know.
func (e *Endpoint) Lag(blocks int) {
	e.do(func() {
		e.lag, e.mixed = blocks, nil
		e.node.tellHeads(nil)
	})
}

// Mix lets the endpoint be a balancer before nodes that lag by so many blocks each: they answer in turn, and the first has the
// subscriptions. The pool is one for all. Without lags it is one node again.
func (e *Endpoint) Mix(lags ...int) {
	e.do(func() {
		e.lag, e.mixed = 0, lags
		if len(lags) > 0 {
			e.lag = lags[0]
		}
		e.node.tellHeads(nil)
	})
}

// Lie lets the endpoint change the bodies of blocks: of the last extrinsic one bit is another, or there is one more. Headers are true.
func (e *Endpoint) Lie(lies bool) { e.do(func() { e.lies = lies }) }

// Silence lets all subscriptions hang: the connections live, calls are answered, and nothing is told.
func (e *Endpoint) Silence(silent bool) { e.do(func() { e.silent = silent }) }

// Cut closes all connections.
func (e *Endpoint) Cut() { e.do(e.cut) }

// Down closes all connections and takes none, until it is up again.
func (e *Endpoint) Down(down bool) {
	e.do(func() {
		if e.down = down; down {
			e.cut()
		}
	})
}

// Lose lets the next submissions be carried out, and closes the connection instead of answering.
func (e *Endpoint) Lose(submissions int) { e.do(func() { e.lose = submissions }) }

// Answer lets a method fail with an error of the node's, without doing anything, until Answer is called with code 0: 429 of a
// provider, 1011, 1015 and 1017 of a pool.
func (e *Endpoint) Answer(method string, code int, message string, data any) {
	e.do(func() {
		if delete(e.answers, method); code != 0 {
			e.answers[method] = &rpcError{Code: code, Message: message, Data: data}
		}
	})
}

// Calls returns how often a method was called here.
func (e *Endpoint) Calls(method string) (count int) {
	e.do(func() { count = e.calls[method] })
	return count
}

// Connections and Subscriptions return how many there are.
func (e *Endpoint) Connections() (count int) {
	e.do(func() { count = len(e.conns) })
	return count
}

// Subscriptions returns how many there are on all connections.
func (e *Endpoint) Subscriptions() (count int) {
	e.do(func() {
		for c := range e.conns {
			count += len(c.subscriptions)
		}
	})
	return count
}

// Cut closes the connections of all endpoints.
func (n *Node) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.endpoints {
		e.cut()
	}
}

func (e *Endpoint) do(act func()) {
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	act()
}

func (e *Endpoint) cut() {
	for c := range e.conns {
		c.end()
	}
}

func (e *Endpoint) close() {
	e.end()
	_ = e.server.Close()
	e.tasks.Wait()
}

// conn is one WebSocket connection.
type conn struct {
	endpoint      *Endpoint
	socket        *websocket.Conn
	ctx           context.Context //nolint:containedctx // ended by Cut
	end           context.CancelFunc
	subscriptions map[string]*subscription // the node's lock guards it

	mu    sync.Mutex
	queue [][]byte
	woken chan struct{}
}

// subscription is one of a connection. What it is told before its id is known to the client waits.
type subscription struct {
	conn    *conn
	key     string // of the id
	id      any
	kind    string // the method of its notifications
	hash    [32]byte
	held    bool
	backlog []any
}

const (
	mostBytes  = 16 << 20 // of a message
	mostQueued = 1 << 15  // messages that a client has not read
)

// ServeHTTP serves a connection until it ends.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.tasks.Add(1)
	defer e.tasks.Done()
	var down bool
	e.do(func() { down = e.down })
	if down || e.ctx.Err() != nil {
		http.Error(w, "the node is down", http.StatusServiceUnavailable)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // as nodes, it serves any page
	if err != nil {
		return
	}
	defer func() { _ = socket.CloseNow() }()
	socket.SetReadLimit(mostBytes)
	c := &conn{endpoint: e, socket: socket, subscriptions: map[string]*subscription{}, woken: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancel(e.ctx)
	defer c.end()
	e.do(func() {
		e.conns[c] = true
		if e.down {
			c.end()
		}
	})
	writer := make(chan struct{})
	go func() {
		defer close(writer)
		c.write()
	}()
	for {
		_, message, err := socket.Read(c.ctx)
		if err != nil {
			break
		}
		c.serve(message)
	}
	c.end()
	<-writer
	e.do(func() {
		for _, s := range c.subscriptions {
			e.node.forget(s)
		}
		delete(e.conns, c)
	})
}

// write sends what is queued until the connection ends.
func (c *conn) write() {
	defer c.end()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.woken:
		}
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, message := range queue {
			if c.socket.Write(c.ctx, websocket.MessageText, message) != nil {
				return
			}
		}
	}
}

// send queues a message and does not wait. A client that does not read loses its connection.
func (c *conn) send(message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		panic("substratetest: " + err.Error()) // all that is sent is made here
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue = append(c.queue, raw); len(c.queue) > mostQueued {
		c.end()
	}
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// push notifies of a value. The node's lock is held.
func (s *subscription) push(value any) {
	switch {
	case s.conn.endpoint.silent:
	case s.held:
		s.backlog = append(s.backlog, value)
	default:
		s.conn.send(map[string]any{"jsonrpc": "2.0", "method": s.kind, "params": map[string]any{"subscription": s.id, "result": value}})
	}
}
