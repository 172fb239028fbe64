//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// faultyProxy is a proxy to a chain's node that parses calls, single or in batches. It draws a fate for
// each call from a seed.
type faultyProxy struct {
	t   testing.TB
	url string
	to  *devnode

	mu    sync.Mutex
	rand  *rand.Rand
	harm  harm
	hurt  map[string]int // number of harmed calls by fate
	calls map[string]int // number of calls by method
	sent  map[string]int // how often signed bytes were sent, even if the call was lost
}

// harm says what happens to calls; its numbers are the share of each fate.
type harm struct {
	before, after float64 // lost before, or after, the node has carried them out
	refused       float64 // answered with a meaningless error, and not passed on
	belied        float64 // answered with the error lie after the node has carried them out
	lie           string
	most          time.Duration   // the longest delay of a request
	shuffled      bool            // the calls of a batch are reordered
	only          string          // the only method that is harmed; empty: all
	away          bool            // all calls are lost
	spared        map[string]bool // methods that are not harmed
}

func newFaultyProxy(t testing.TB, to *devnode, seed uint64) *faultyProxy {
	t.Helper()
	w := &faultyProxy{
		t: t, to: to, rand: rand.New(rand.NewPCG(seed, 1)),
		hurt: map[string]int{}, calls: map[string]int{}, sent: map[string]int{},
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// does sets what happens from now on.
func (w *faultyProxy) does(h harm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.harm = h
}

// count reads one of the maps.
func (w *faultyProxy) count(of map[string]int, what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return of[what]
}

// followed waits until the conch node has read the present head, and has asked for the head again:
// by then it has acted on it.
func (w *faultyProxy) followed() {
	w.t.Helper()
	const method = "eth_getHeaderByNumber"
	before := w.count(w.calls, method)
	until(w.t, "the head is followed", func() bool { return w.count(w.calls, method) >= before+3 })
}

type rpcCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
	raw    json.RawMessage
	fate   string
	lie    string
}

// fails returns an answer with an error.
func (c *rpcCall) fails(text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, c.ID, text)
}

// ServeHTTP implements http.Handler.
func (w *faultyProxy) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	calls, batch := parseCalls(body)
	if err != nil || len(calls) == 0 {
		return // the caller has gone
	}
	pause := w.draw(calls)
	select {
	case <-time.After(pause):
	case <-r.Context().Done():
		return
	}
	answers, err := w.pass(calls)
	if err != nil || len(answers) == 0 {
		panic(http.ErrAbortHandler) // break the connection
	}
	out.Header().Set("Content-Type", "application/json")
	if !batch {
		_, _ = out.Write(answers[0])
		return
	}
	_, _ = fmt.Fprintf(out, "[%s]", bytes.Join(answers, []byte(",")))
}

// parseCalls reads a request of one call or many.
func parseCalls(body []byte) (calls []*rpcCall, batch bool) {
	var raws []json.RawMessage
	if batch = json.Unmarshal(body, &raws) == nil; !batch {
		raws = []json.RawMessage{body}
	}
	for _, raw := range raws {
		c := &rpcCall{raw: raw}
		if json.Unmarshal(raw, c) == nil {
			calls = append(calls, c)
		}
	}
	return calls, batch
}

// signedIn returns the signed bytes in calls that send them.
func signedIn(calls []*rpcCall) (all []string) {
	for _, c := range calls {
		if c.Method == "eth_sendRawTransaction" {
			all = append(all, c.Params[0].(string))
		}
	}
	return all
}

// draw gives each call its fate.
func (w *faultyProxy) draw(calls []*rpcCall) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, raw := range signedIn(calls) {
		w.sent[raw]++
	}
	for _, c := range calls {
		w.calls[c.Method]++
		luck := w.rand.Float64()
		switch h := w.harm; {
		case h.away:
			c.fate = "before"
		case h.only != "" && h.only != c.Method || h.spared[c.Method]:
		case luck < h.before:
			c.fate = "before"
		case luck < h.before+h.after:
			c.fate = "after"
		case luck < h.before+h.after+h.refused:
			c.fate = "refused"
		case luck < h.before+h.after+h.refused+h.belied:
			c.fate, c.lie = "belied", h.lie
		}
		if c.fate != "" {
			w.hurt[c.fate]++
		}
	}
	if w.harm.shuffled {
		w.rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	}
	if w.harm.most == 0 {
		return 0
	}
	return time.Duration(w.rand.Int64N(int64(w.harm.most)))
}

// pass forwards the calls that reach the node, and returns the answers that come back.
func (w *faultyProxy) pass(calls []*rpcCall) (answers [][]byte, err error) {
	var there, lost []json.RawMessage
	for _, c := range calls {
		switch c.fate {
		case "refused":
			answers = append(answers, c.fails("something went wrong"))
			continue
		case "before":
			continue
		case "after", "belied":
			lost = append(lost, c.ID)
			if c.fate == "belied" {
				answers = append(answers, c.fails(c.lie))
			}
		}
		there = append(there, c.raw)
	}
	if len(there) == 0 {
		return answers, nil
	}
	body, err := json.Marshal(there)
	if err != nil {
		return nil, err
	}
	answer, err := w.to.takes(body)
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, err
	}
	for _, one := range all {
		var of rpcCall
		if err := json.Unmarshal(one, &of); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(lost, func(id json.RawMessage) bool { return bytes.Equal(id, of.ID) }) {
			answers = append(answers, one)
		}
	}
	return answers, nil
}
