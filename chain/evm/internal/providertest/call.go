package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Request is one HTTP request, or one message of a WebSocket. One goroutine handles it.
type Request struct {
	Calls []*Call
	Batch bool // the calls came in an array

	ctx      context.Context
	provider *Provider
	body     int     // bytes
	heights  heights // of the node, read once for all calls
	backend  int     // the backend of all calls, plus one; 0: not chosen yet
}

// Call is one call of a request.
type Call struct {
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
	ID     json.RawMessage   `json:"id"`

	request *Request
}

// Answer is the answer to one call.
type Answer struct {
	Result json.RawMessage
	Err    *RPCError       // the call was refused
	ID     json.RawMessage // set by the provider, if a behaviour did not
	Left   bool            // the answer is left out
}

// RPCError is a JSON-RPC error.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// parse reads a request.
func (p *Provider) parse(ctx context.Context, body []byte) (*Request, error) {
	r := &Request{ctx: ctx, provider: p, body: len(body)}
	r.Batch = strings.HasPrefix(strings.TrimSpace(string(body)), "[")
	var into any = &r.Calls
	if !r.Batch {
		r.Calls = []*Call{{}}
		into = r.Calls[0]
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, err
	}
	for _, c := range r.Calls {
		c.request = r
	}
	return r, nil
}

// encode writes an answer as JSON-RPC.
func (a Answer) encode() []byte {
	id := a.ID
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if a.Err != nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, encoded(a.Err))
	}
	result := a.Result
	if len(result) == 0 {
		result = null
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

var null = json.RawMessage("null")

// encoded returns the JSON of a value that has one.
func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(strconv.Quote(err.Error())) // shows in the test that reads it
	}
	return text
}

// result is an answer of the provider itself.
func result(v any) Answer { return Answer{Result: encoded(v)} }

// refuse answers with an error of the provider itself, and counts the call as refused.
func (c *Call) refuse(code int, format string, args ...any) Answer {
	c.request.provider.strike()
	c.request.provider.refuse(1)
	return Answer{Err: &RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// changed counts that a behaviour has changed the answer, and returns it.
func (c *Call) changed(a Answer) Answer {
	c.request.provider.strike()
	return a
}

// is reports whether the call has one of the methods.
func (c *Call) is(methods ...string) bool { return slices.Contains(methods, c.Method) }

// text returns a parameter that is a string, else "".
func (c *Call) text(at int) (text string) {
	if at < len(c.Params) {
		_ = json.Unmarshal(c.Params[at], &text) // a parameter of another type is no text
	}
	return text
}

// with returns the call with another parameter at a position, or one more at the end.
func (c *Call) with(at int, param any) *Call {
	out := *c
	out.Params = slices.Clone(c.Params)
	for len(out.Params) <= at {
		out.Params = append(out.Params, null)
	}
	out.Params[at] = encoded(param)
	return &out
}

// fields returns the fields of a result that is an object, else nil.
func (a Answer) fields() (fields map[string]json.RawMessage) {
	_ = json.Unmarshal(a.Result, &fields) // a list or null has no fields
	return fields
}

// number returns a field that is a number, such as "blockNumber".
func (a Answer) number(field string) (n uint64, there bool) {
	var text string
	if json.Unmarshal(a.fields()[field], &text) != nil {
		return 0, false
	}
	return parseHex(text)
}

// put returns the answer with some fields changed.
func (a Answer) put(values map[string]any) Answer {
	fields := maps.Clone(a.fields())
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	for name, v := range values {
		fields[name] = encoded(v)
	}
	a.Result = encoded(fields)
	return a
}

// empty reports whether the answer is null.
func (a Answer) empty() bool {
	return a.Err == nil && (len(a.Result) == 0 || string(a.Result) == "null")
}

func hex(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func parseHex(text string) (uint64, bool) {
	digits, prefixed := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, prefixed && err == nil
}
