package providertest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
)

// Reply is the answer to a request.
type Reply struct {
	Status  int // 0: 200
	Header  http.Header
	Answers []Answer
	Object  bool                              // one object, not an array, answers a batch
	Body    []byte                            // sent instead of the answers
	Write   func(http.ResponseWriter, []byte) // sends the body instead of one write
	Cut     bool                              // the connection breaks without a reply
}

// body returns the bytes that answer a request.
func (reply *Reply) body(r *Request) []byte {
	if reply.Body != nil {
		return reply.Body
	}
	var all [][]byte
	for _, a := range reply.Answers {
		if !a.Left {
			all = append(all, a.encode())
		}
	}
	if r.Batch && !reply.Object {
		return fmt.Appendf(nil, "[%s]", bytes.Join(all, []byte(",")))
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func (reply *Reply) send(w http.ResponseWriter, r *Request) {
	if reply.Cut {
		panic(http.ErrAbortHandler) // the only way in which a handler breaks its connection
	}
	w.Header().Set("Content-Type", "application/json")
	maps.Copy(w.Header(), reply.Header)
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	body := reply.body(r)
	if reply.Write != nil {
		reply.Write(w, body)
		return
	}
	_, _ = w.Write(body) // the caller may have gone
}

// refuse answers a whole request with an HTTP status, and counts its calls as refused.
func (r *Request) refuse(status int, body string) *Reply {
	r.provider.strike()
	r.provider.refuse(len(r.Calls))
	return &Reply{Status: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(body)}
}

// fault answers a whole request with one JSON-RPC error, as an object with the id null.
func (r *Request) fault(code int, format string, args ...any) *Reply {
	r.provider.strike()
	r.provider.refuse(len(r.Calls))
	return &Reply{Object: true, Answers: []Answer{{Err: &RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}}}
}

// faults answers each call of a request with an error.
func (r *Request) faults(code int, format string, args ...any) *Reply {
	r.provider.strike()
	r.provider.refuse(len(r.Calls))
	reply := &Reply{}
	for _, c := range r.Calls {
		reply.Answers = append(reply.Answers, Answer{ID: c.ID, Err: &RPCError{Code: code, Message: fmt.Sprintf(format, args...)}})
	}
	return reply
}

// changed counts that a transport has changed the reply, and returns it.
func (r *Request) changed(reply *Reply) *Reply {
	r.provider.strike()
	return reply
}

// has reports whether the request has a call of a method.
func (r *Request) has(method string) bool {
	for _, c := range r.Calls {
		if c.Method == method {
			return true
		}
	}
	return false
}
