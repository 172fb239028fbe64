package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

const patience = 30 * time.Second

// asked is a call as a server gets it.
type asked struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
}

// server answers calls over WebSockets. What handle returns is sent, in its order; nothing if it is empty.
type server struct {
	*httptest.Server
	lines  atomic.Int64
	mu     sync.Mutex
	conns  []*websocket.Conn
	handle func(asked) []string
}

func serve(t *testing.T, handle func(asked) []string) *server {
	t.Helper()
	s := &server{handle: handle}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		s.lines.Add(1)
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.answer(r.Context(), conn)
	}))
	t.Cleanup(func() { s.cut(); s.Close() })
	return s
}

func (s *server) answer(ctx context.Context, conn *websocket.Conn) {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var one asked
		if json.Unmarshal(text, &one) != nil {
			return
		}
		for _, out := range s.handle(one) {
			if conn.Write(ctx, websocket.MessageText, []byte(out)) != nil {
				return
			}
		}
	}
}

// cut ends all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.CloseNow()
	}
	s.conns = nil
}

func (s *server) url() string { return "ws" + strings.TrimPrefix(s.URL, "http") }

func result(a asked, text string) []string {
	return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, a.ID, text)}
}

func connect(t *testing.T, cfg rpc.Config) *rpc.Client {
	t.Helper()
	c := rpc.New(cfg)
	t.Cleanup(c.Close)
	return c
}

func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Answers may come in any order, and more calls than may wait at once are all answered.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	var held []string
	s := serve(t, func(a asked) []string {
		out := result(a, fmt.Sprintf("%q", fmt.Sprint(a.Method, a.Params)))[0]
		if held = append(held, out); len(held) < 4 {
			return nil
		}
		all := []string{held[3], held[1], held[2], held[0]}
		held = nil
		return all
	})
	c := connect(t, rpc.Config{URL: s.url(), MaxOpen: 5})
	var group sync.WaitGroup
	for of := range 4 {
		group.Go(func() {
			calls, said := make([]rpc.Request, 40), make([]string, 40)
			for i := range calls {
				calls[i] = rpc.Request{Method: "m", Args: []any{of, i}, Result: &said[i]}
			}
			if err := c.Calls(brief(t), calls); err != nil {
				t.Error(err)
			}
			for i, text := range said {
				if want := fmt.Sprintf("m[%d %d]", of, i); text != want || calls[i].Err != nil {
					t.Errorf("call %d got %q, %v, want %q", i, text, calls[i].Err, want)
				}
			}
		})
	}
	group.Wait()
	if n := s.lines.Load(); n != 1 {
		t.Errorf("%d connections, want one for all", n)
	}
}

// S15: an endpoint's error is an answer; it has code, text and data, and no secret that the endpoint may say back.
func TestAnErrorIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(a asked) []string {
		return []string{fmt.Sprintf(`{"id":%s,"error":{"code":1010,"message":"Invalid\u001b[31m\n of sesame-key","data":"Transaction is outdated"}}`, a.ID)}
	})
	c := connect(t, rpc.Config{URL: s.url() + "/v1/sesame-key?a=b"})
	err := c.Call(brief(t), nil, "author_submitExtrinsic", "0x00")
	said, is := rpc.Answered(err)
	if !is || !errors.Is(err, chain.ErrAnswer) || said.Code != 1010 || string(said.Data) != `"Transaction is outdated"` {
		t.Fatalf("got %v, want the node's answer", err)
	}
	if text := err.Error(); strings.Contains(text, "sesame") || strings.Contains(text, "s3c") || strings.ContainsAny(text, "\n\x1b") || !strings.Contains(text, "outdated") {
		t.Errorf("got %q, want the node's words in one line, without the key", text)
	}
}

// A connection that is lost ends the calls on it, and the next call makes another. Nothing is asked twice.
func TestReconnect(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	s := serve(t, nil)
	s.handle = func(a asked) []string {
		if got.Add(1) == 1 {
			s.cut()
			return nil
		}
		return result(a, "7")
	}
	c := connect(t, rpc.Config{URL: s.url()})
	if err := c.Call(brief(t), nil, "m"); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("got %v, want that there was no answer", err)
	}
	var n int
	if err := c.Call(brief(t), &n, "m"); err != nil || n != 7 || got.Load() != 2 {
		t.Errorf("got %d, %v after %d calls, want 7 after two", n, err, got.Load())
	}
}

// A connection on which calls wait and nothing comes is given up; one on which others are answered is not.
func TestASilentConnection(t *testing.T) {
	t.Parallel()
	var mute atomic.Bool
	mute.Store(true)
	s := serve(t, func(a asked) []string {
		if mute.Load() || a.Method == "never" {
			return nil
		}
		return result(a, "1")
	})
	c := connect(t, rpc.Config{URL: s.url(), Timeout: 200 * time.Millisecond})
	if err := c.Call(brief(t), nil, "m"); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("got %v, want that there was no answer", err)
	}
	mute.Store(false)
	if err := c.Call(brief(t), nil, "m"); err != nil || s.lines.Load() != 2 {
		t.Fatalf("got %v by connection %d, want an answer by a second one", err, s.lines.Load())
	}
	over := make(chan error, 1)
	go func() { over <- c.Call(brief(t), nil, "never") }()
	for waits := true; waits; {
		select {
		case <-over:
			waits = false
		default:
			if err := c.Call(brief(t), nil, "m"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Call(brief(t), nil, "m"); err != nil || s.lines.Load() != 2 {
		t.Errorf("got %v by connection %d, want that the second one stays", err, s.lines.Load())
	}
}

// A caller that hangs up leaves the connection to the others.
func TestHangUp(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	s := serve(t, func(a asked) []string {
		if a.Method == "never" {
			close(came)
			return nil
		}
		return result(a, "1")
	})
	c := connect(t, rpc.Config{URL: s.url()})
	ctx, hangUp := context.WithCancel(brief(t))
	go func() { <-came; hangUp() }()
	if err := c.Call(ctx, nil, "never"); !errors.Is(err, context.Canceled) || !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("got %v, want that the caller hung up", err)
	}
	if err := c.Call(brief(t), nil, "m"); err != nil || s.lines.Load() != 1 {
		t.Errorf("got %v by connection %d, want an answer by the first", err, s.lines.Load())
	}
}

// An answer that is too large is none, and the connection is made anew.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := serve(t, func(a asked) []string {
		if a.Method == "large" {
			return result(a, fmt.Sprintf("%q", strings.Repeat("x", 5000)))
		}
		return result(a, "1")
	})
	c := connect(t, rpc.Config{URL: s.url(), MaxAnswer: 4096})
	if err := c.Call(brief(t), nil, "large"); !errors.Is(err, chain.ErrAnswer) || !strings.Contains(err.Error(), "larger than 4096") {
		t.Errorf("got %v, want that it is too large", err)
	}
	if err := c.Call(brief(t), nil, "m"); err != nil {
		t.Error(err)
	}
}

// What is no JSON-RPC ends the connection at once: nobody waits for its time to pass.
func TestNonsense(t *testing.T) {
	t.Parallel()
	s := serve(t, func(asked) []string { return []string{"<html>"} })
	c := connect(t, rpc.Config{URL: s.url(), Timeout: time.Hour})
	if err := c.Call(brief(t), nil, "m"); !errors.Is(err, chain.ErrUnreachable) || !strings.Contains(err.Error(), "not JSON-RPC") {
		t.Errorf("got %v", err)
	}
}

// Every new connection is greeted before anything else is asked on it, and one that is not who it should be is asked nothing.
func TestGreet(t *testing.T) {
	t.Parallel()
	var methods []string
	var other atomic.Bool
	s := serve(t, nil)
	s.handle = func(a asked) []string {
		methods = append(methods, a.Method)
		return result(a, fmt.Sprint(other.Load()))
	}
	c := connect(t, rpc.Config{URL: s.url(), Greet: func(ctx context.Context, ask rpc.Ask) error {
		var is bool
		if err := ask(ctx, &is, "who"); err != nil || !is {
			return err
		}
		return fmt.Errorf("%w: another", chain.ErrForeign)
	}})
	if err := c.Call(brief(t), nil, "m"); err != nil {
		t.Fatal(err)
	}
	other.Store(true)
	s.cut()
	for err := c.Call(brief(t), nil, "m"); !errors.Is(err, chain.ErrForeign); err = c.Call(brief(t), nil, "m") {
		if brief(t).Err() != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if got := fmt.Sprint(methods); got != "[who m who]" {
		t.Errorf("asked %s, want [who m who]", got)
	}
}

// A subscription may be named by a number or a text. It ends with its connection, and says so.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`7`, `"abc"`} {
		var off atomic.Value
		s := serve(t, func(a asked) []string {
			if a.Method == "off" {
				off.Store(fmt.Sprint(a.Params...))
				return result(a, "true")
			}
			news := fmt.Sprintf(`{"method":"news","params":{"subscription":%s,"result":"`, id)
			return append(result(a, id), news+`one"}}`, `{"method":"news","params":{"subscription":99,"result":"x"}}`, news+`two"}}`)
		})
		c := connect(t, rpc.Config{URL: s.url()})
		heard := make(chan string, 9)
		tell := func(m json.RawMessage) { heard <- string(m) }
		sub, err := c.Subscribe(brief(t), tell, "on", "off", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-heard + <-heard; got != `"one""two"` {
			t.Errorf("heard %s", got)
		}
		sub.Stop()
		<-sub.Done()
		if err := c.Call(brief(t), nil, "sync"); err != nil || off.Load() != strings.Trim(id, `"`) {
			t.Errorf("the endpoint was not told that the subscription is over: %v", err)
		}
		if sub, err = c.Subscribe(brief(t), tell, "on", "off"); err != nil {
			t.Fatal(err)
		}
		s.cut()
		select {
		case <-sub.Done():
		case <-brief(t).Done():
			t.Error("the connection is lost, and the subscription goes on")
		}
	}
}

// No secret of the URL is in an error or in what is printed.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	address := strings.TrimPrefix(gone.URL, "http://")
	for _, url := range []string{"ws://user:password@" + address + "/sesame1?key=sesame2", "ws://user:password@127.0.0.1:1/sesame1?key=sesame2", "ws://127.0.0.1:1/s3c", "ws://%/sesame1"} {
		c := connect(t, rpc.Config{URL: url, Header: http.Header{"Authorization": {"Bearer sesame3"}}})
		err := c.Call(brief(t), nil, "m")
		for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v %#v", c, c)} {
			if strings.Contains(text, "sesame") || strings.Contains(text, "s3c") || strings.Contains(text, "password") {
				t.Errorf("shown is %q", text)
			}
		}
		if !errors.Is(err, chain.ErrUnreachable) {
			t.Errorf("got %v, want that nobody answers", err)
		}
	}
}

// After Close nothing is asked, and what waited has ended.
func TestClose(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	s := serve(t, func(asked) []string { close(came); return nil })
	c := rpc.New(rpc.Config{URL: s.url()})
	go func() { <-came; c.Close() }()
	if err := c.Call(brief(t), nil, "never"); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("got %v, want that there was no answer", err)
	}
	if err := c.Call(brief(t), nil, "m"); !errors.Is(err, chain.ErrUnreachable) || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v, want that it is closed", err)
	}
	c.Close()
}
