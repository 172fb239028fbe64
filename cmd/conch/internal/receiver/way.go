package receiver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/webhook"
)

// way is how one message leaves: over a connection of its own, each of whose writes is an act.
type way struct {
	acts  webhook.Act // nil: nobody is asked
	roots *x509.CertPool
	end   func()                                                               // called when a write was not allowed; nil: nothing
	dial  func(ctx context.Context, network, address string) (net.Conn, error) // nil: as usual

	wrote atomic.Int64 // bytes that have left
	shut  atomic.Bool  // a write was not allowed
}

func (w *way) act(write func(context.Context) error) error {
	if w.acts == nil {
		return write(context.Background())
	}
	began := false
	err := w.acts(func(answer context.Context) error { began = true; return write(answer) })
	if err != nil && !began && !w.shut.Swap(true) && w.end != nil {
		w.end()
	}
	return err
}

// counted is a connection that counts what leaves.
type counted struct {
	net.Conn

	wrote *atomic.Int64
}

// Write implements net.Conn.
func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote.Add(int64(n))
	return n, err
}

// transport returns what sends one request. It follows no redirect and keeps no connection: a library that repeats a request on a broken one would
// tell twice.
func (w *way) transport() *http.Transport {
	dial := w.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: Patience}).DialContext
	}
	return webhook.Guard(&http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return counted{c, &w.wrote}, nil
		},
		DisableKeepAlives: true, DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: Patience, MaxResponseHeaderBytes: 32 << 10,
	}, w.act)
}

// outcome is what one attempt to tell has led to.
type outcome struct {
	status int           // of the answer; 0: there was none
	wait   time.Duration // that the receiver asks for
	says   string        // what it says, as it came
	more   bool          // it says more, perhaps: the end may be half a secret
	left   bool          // a part of the message has left
	err    error         // why there is no answer
	shut   bool          // it was not allowed to leave
	ends   []int         // statuses that mean taken; nil: each 2xx
	fixed  alerts.Answer // what it means, where no status of HTTP says it
	partly string        // who has it, if it is taken and not everybody has
}

const mostRead = 16 << 10 // bytes of what a receiver says

// post has send make one request with a client, and returns what came of it, whatever send makes of that: libraries quote addresses in errors,
// and forget the status.
func (w *way) post(send func(client *http.Client) error) outcome {
	once := &single{way: w}
	err := send(&http.Client{Transport: once})
	if !once.used {
		return outcome{err: err} // nothing was sent
	}
	return once.got
}

// single is an http.RoundTripper for one request: no other one leaves, neither to repeat it nor to follow a redirect.
type single struct {
	way *way

	used bool
	got  outcome
}

var errTwice = errors.New("a message is sent once")

// RoundTrip implements http.RoundTripper.
func (s *single) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.used {
		return nil, errTwice
	}
	s.used = true
	var began atomic.Int64 // one more than had left when the connection was there; 0: it was not
	traced := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { began.Store(s.way.wrote.Load() + 1) }, // WroteRequest comes before the last of it is written
	})
	transport := s.way.transport()
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req.WithContext(traced))
	if err != nil {
		if req.Context().Err() != nil {
			err = context.Cause(req.Context())
		}
		before := began.Load()
		s.got = outcome{err: err, left: before > 0 && s.way.wrote.Load() >= before}
		s.got.shut = s.way.shut.Load() && !s.got.left
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	s.got = outcome{status: res.StatusCode, wait: waitOf(res.Header)}
	body := []byte("{}") // for libraries that want JSON: what is taken is not read
	if res.StatusCode/100 != 2 {
		body, err = io.ReadAll(io.LimitReader(res.Body, mostRead)) // what has come is enough
		s.got.says, s.got.more = string(body), err != nil || len(body) == mostRead
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// waitOf reads Retry-After.
func waitOf(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(h.Get("Date")) // the receiver's clock, if it shows it
	if err != nil {
		from = time.Now()
	}
	return max(0, at.Sub(from))
}
