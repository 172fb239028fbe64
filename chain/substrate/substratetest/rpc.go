package substratetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

var null = json.RawMessage("null")

// serve answers a message: a call or a batch of calls.
func (c *conn) serve(message []byte) {
	message = bytes.TrimSpace(message)
	if len(message) == 0 || message[0] != '[' {
		answer, begun, lost := c.one(message)
		if lost {
			c.end()
			return
		}
		if answer != nil {
			c.send(answer)
		}
		c.start(begun)
		return
	}
	var calls []json.RawMessage
	switch err := json.Unmarshal(message, &calls); {
	case err != nil:
		c.send(refused(nil, -32700, "Parse error"))
		return
	case len(calls) == 0:
		c.send(refused(nil, -32600, "Invalid request"))
		return
	case len(calls) > c.endpoint.node.cfg.Batch:
		c.send(refused(nil, -32010, "The batch request was too large"))
		return
	}
	answers := []*response{}
	var all []*subscription
	gone := false
	for _, call := range calls {
		answer, begun, lost := c.one(call)
		if answer != nil {
			answers = append(answers, answer)
		}
		all = append(all, begun...)
		gone = gone || lost
	}
	if gone {
		c.end()
		return
	}
	if len(answers) > 0 {
		c.send(answers)
	}
	c.start(all)
}

func refused(id json.RawMessage, code int, message string) *response {
	if len(id) == 0 {
		id = null
	}
	return &response{Version: "2.0", ID: id, Error: &rpcError{Code: code, Message: message}}
}

// start lets subscriptions speak whose ids the client has.
func (c *conn) start(begun []*subscription) {
	if len(begun) == 0 {
		return
	}
	c.endpoint.do(func() {
		for _, s := range begun {
			s.held = false
			for _, value := range s.backlog {
				s.push(value)
			}
			s.backlog = nil
		}
	})
}

// one answers one call; nil is no answer, to a notification. Lost is an answer that the client must not get.
func (c *conn) one(message []byte) (answer *response, begun []*subscription, lost bool) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		if !json.Valid(message) {
			return refused(nil, -32700, "Parse error"), nil, false
		}
		return refused(nil, -32600, "Invalid request"), nil, false
	}
	if id := bytes.TrimSpace(r.ID); len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
		return refused(nil, -32600, "Invalid request"), nil, false
	}
	if r.Method == "" {
		return refused(r.ID, -32600, "Invalid request"), nil, false
	}
	if len(r.ID) == 0 {
		return nil, nil, false
	}
	q := &query{conn: c}
	if params := bytes.TrimSpace(r.Params); len(params) > 0 && !bytes.Equal(params, null) {
		if json.Unmarshal(params, &q.params) != nil {
			return refused(r.ID, -32602, "Invalid params"), nil, false
		}
	}
	var result any
	c.endpoint.do(func() { result, lost = q.answer(r.Method) })
	if q.err != nil {
		return &response{Version: "2.0", ID: r.ID, Error: q.err}, q.begun, lost
	}
	raw, err := json.Marshal(result)
	if err != nil {
		panic("substratetest: " + err.Error()) // all results are made here
	}
	return &response{Version: "2.0", ID: r.ID, Result: raw}, q.begun, lost
}

// query is a call while it is answered. The node's lock is held. After the first error its results do not count.
type query struct {
	conn   *conn
	params []json.RawMessage
	view   view
	begun  []*subscription
	err    *rpcError
}

func (q *query) node() *Node { return q.conn.endpoint.node }

func (q *query) fail(code int, format string, args ...any) {
	if q.err == nil {
		q.err = &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
	}
}

// answer finds the method and calls it.
func (q *query) answer(method string) (result any, lost bool) {
	e := q.conn.endpoint
	e.calls[method]++
	q.view = e.next()
	does, offered := methods[method]
	switch {
	case e.answers[method] != nil:
		q.err = e.answers[method]
	case !offered || len(method) > 11 && method[:11] == "archive_v1_" && !e.node.cfg.Archive:
		q.fail(-32601, "Method not found")
	default:
		result = does(q)
	}
	if e.lose > 0 && (method == "author_submitExtrinsic" || method == "author_submitAndWatchExtrinsic") {
		e.lose--
		lost = true
	}
	return result, lost
}

// view is what one backend of an endpoint knows.
type view struct {
	node        *Node
	head, final *block
}

func (e *Endpoint) next() view {
	if len(e.mixed) == 0 {
		return e.view(e.lag)
	}
	e.turn++
	return e.view(e.mixed[e.turn%len(e.mixed)])
}

func (e *Endpoint) view(lag int) view {
	n := e.node
	at := max(len(n.best)-1-max(lag, 0), 0)
	return view{n, n.best[at], n.best[min(n.final, at)]}
}

// block returns a block that the backend knows, of any branch; nil: it knows none of this hash.
func (v view) block(hash [32]byte) *block {
	if b := v.node.known[hash]; b != nil && b.number <= v.head.number {
		return b
	}
	return nil
}

// given reports whether there is an argument, and it is not null.
func (q *query) given(i int) bool {
	return i < len(q.params) && !bytes.Equal(bytes.TrimSpace(q.params[i]), null)
}

// arg decodes an argument. One that is not there is an error.
func (q *query) arg(i int, into any) {
	if !q.given(i) {
		q.fail(-32602, "Invalid params: argument %d is missing", i)
	} else if err := json.Unmarshal(q.params[i], into); err != nil {
		q.fail(-32602, "Invalid params: argument %d", i)
	}
}

// bytes decodes an argument of hex digits.
func (q *query) bytes(i int) []byte {
	var text string
	q.arg(i, &text)
	return q.unhex(text)
}

func (q *query) unhex(text string) []byte {
	b, ok := unhexed(text)
	if !ok && q.err == nil {
		q.fail(-32602, "Invalid params: not hex digits behind 0x")
	}
	return b
}

// hash decodes an argument that is a hash.
func (q *query) hash(i int) (hash [32]byte) {
	b := q.bytes(i)
	if len(b) != len(hash) {
		q.fail(-32602, "Invalid params: a hash has 32 bytes")
		return hash
	}
	return [32]byte(b)
}

// at returns the block that an argument names; the head if none is named, nil if it is not known.
func (q *query) at(i int) *block {
	if !q.given(i) {
		return q.view.head
	}
	return q.view.block(q.hash(i))
}

// state returns the block that an argument names, if the node has its state; an error else.
func (q *query) state(i int) *block {
	b := q.at(i)
	switch {
	case b == nil && q.err == nil:
		q.fail(4003, "Client error: UnknownBlock: Header was not found in the database: %s", q.params[i])
	case b != nil && b.pruned:
		q.fail(4003, "Client error: UnknownBlock: State already discarded for %s", hexed(b.hash[:]))
	}
	if q.err != nil {
		return q.node().head() // whose state is there
	}
	return b
}

// subscribe begins a subscription and returns its id.
func (q *query) subscribe(kind string, first ...any) (any, *subscription) {
	c := q.conn
	if len(c.subscriptions) >= q.node().cfg.Subscriptions {
		q.err = &rpcError{Code: -32006, Message: "Too many subscriptions on the connection", Data: fmt.Sprint("Exceeded max limit of ", q.node().cfg.Subscriptions)}
		return nil, nil
	}
	e := c.endpoint
	e.made++
	s := &subscription{conn: c, kind: kind, held: true, backlog: first, key: fmt.Sprintf("sub%010dX", e.made)}
	s.id = s.key
	if q.node().cfg.NumericIDs {
		s.key = strconv.FormatUint(e.made, 10)
		s.id = e.made
	}
	c.subscriptions[s.key] = s
	q.begun = append(q.begun, s)
	return s.id, s
}

// unsubscribe ends a subscription of a kind, and says whether there was one.
func (q *query) unsubscribe(kind string) any {
	var id any
	q.arg(0, &id)
	key := ""
	switch id := id.(type) {
	case string:
		key = id
	case float64:
		key = strconv.FormatFloat(id, 'f', -1, 64)
	}
	s := q.conn.subscriptions[key]
	if s == nil || s.kind != kind {
		return false
	}
	q.node().forget(s)
	return true
}

// names returns the methods that the node offers, sorted.
func (n *Node) names() (all []string) {
	for name := range methods {
		if n.cfg.Archive || len(name) < 11 || name[:11] != "archive_v1_" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
