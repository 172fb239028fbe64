package providertest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"time"
)

// Page answers every request by a page, with a status.
func Page(status int, page string) Transport {
	return func(r *Request, _ Server) *Reply {
		reply := r.refuse(status, page)
		reply.Header.Set("Content-Type", "text/html")
		return reply
	}
}

// ErrorUnder answers every request by one JSON-RPC error with the id null, under an HTTP status.
func ErrorUnder(status, code int, text string) Transport {
	return func(r *Request, _ Server) *Reply {
		reply := r.fault(code, "%s", text)
		reply.Status = status
		return reply
	}
}

// Gateway carries out requests that have a method, and then answers by a status.
func Gateway(method string, status int) Transport {
	return Transport(func(r *Request, next Server) *Reply {
		next(r)
		return r.changed(&Reply{Status: status, Body: []byte("Gateway Timeout")})
	}).when(func(r *Request) bool { return r.has(method) })
}

// Shuffled answers batches in another order.
func Shuffled() Transport {
	return reordered(func(r *Request, answers []Answer) []Answer {
		r.provider.mu.Lock()
		defer r.provider.mu.Unlock()
		r.provider.rand.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
		return answers
	})
}

// Short leaves some answers of each batch out.
func Short() Transport {
	return reordered(func(r *Request, answers []Answer) []Answer {
		return answers[:len(answers)-1-r.provider.draw(len(answers)-1)]
	})
}

// Doubled gives some answers of each batch twice.
func Doubled() Transport {
	return reordered(func(r *Request, answers []Answer) []Answer {
		return append(answers, answers[r.provider.draw(len(answers)):]...)
	})
}

// reordered changes the answers of batches of two and more calls.
func reordered(change func(*Request, []Answer) []Answer) Transport {
	return Transport(func(r *Request, next Server) *Reply {
		reply := next(r)
		if len(reply.Answers) > 1 {
			reply.Answers = change(r, reply.Answers)
			r.provider.strike()
		}
		return reply
	}).when(func(r *Request) bool { return len(r.Calls) > 1 })
}

// Gzip compresses the answers.
func Gzip() Transport {
	return func(r *Request, next Server) *Reply {
		reply := next(r)
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		_, _ = w.Write(reply.body(r)) // a buffer takes everything
		_ = w.Close()
		reply.Body = small.Bytes()
		reply.Header = http.Header{"Content-Encoding": {"gzip"}}
		return r.changed(reply)
	}
}

// Trickle sends each answer in parts, with a pause between them.
func Trickle(parts int, pause time.Duration) Transport {
	return func(r *Request, next Server) *Reply {
		reply := next(r)
		reply.Write = func(w http.ResponseWriter, body []byte) {
			size := len(body)/parts + 1
			for len(body) > 0 {
				n := min(size, len(body))
				_, _ = w.Write(body[:n])              // the caller may have gone
				http.NewResponseController(w).Flush() //nolint:errcheck // as above
				body = body[n:]
				if !r.wait(pause) {
					return
				}
			}
		}
		return r.changed(reply)
	}
}

// wait waits, and reports whether the caller is still there.
func (r *Request) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// Half ends each answer in the middle, and says that it is whole.
func Half() Transport {
	return func(r *Request, next Server) *Reply {
		reply := next(r)
		body := reply.body(r)
		reply.Body = body[:len(body)/2]
		return r.changed(reply)
	}
}

// Endless sends one string that grows up to so many bytes, unless the caller hangs up.
func Endless(most int, sent func(total int)) Transport {
	return func(r *Request, _ Server) *Reply {
		return r.changed(&Reply{Body: []byte(`[{"jsonrpc":"2.0","id":1,"result":"`), Write: func(w http.ResponseWriter, body []byte) {
			part := []byte(strings.Repeat("f", 1<<16))
			_, err := w.Write(body)
			for total := 0; total < most && err == nil; total += len(part) {
				_, err = w.Write(part)
				sent(total)
			}
		}})
	}
}

// Silent takes requests and answers none.
func Silent() Transport {
	return func(r *Request, _ Server) *Reply {
		r.provider.strike()
		<-r.ctx.Done()
		return &Reply{Cut: true}
	}
}
