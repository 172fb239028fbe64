//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

// requested requests numbered transactions from a node, and returns the acknowledged deeds by ID.
func requested(t *testing.T, n *daemon, from, to int) map[string]string {
	t.Helper()
	c := callersOf(t, n)
	c.wants(from, to)
	return c.acknowledged()
}

// 30 % of all calls are lost, before or after the node has carried them out, also within batches,
// and batches are reordered: everything is done once.
func TestLostResponses(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newFaultyProxy(t, chain, 4)
	// finality = 0: whether the chain reports final blocks must be found despite lost answers.
	n := senderAt(t, "n1", db.URL, line.url, "", "finality = 2", "finality = 0")
	line.does(harm{before: 0.12, after: 0.15, refused: 0.03, shuffled: true, most: 20 * time.Millisecond})
	asked := requested(t, n, 0, runtest.ByDay(150, 300))
	judge(t, chain, db.URL, asked)
	for _, way := range []string{"before", "after", "refused"} {
		if line.count(line.hurt, way) < 10 {
			t.Errorf("lost calls: %v, want 10 or more of each kind, or the test shows nothing", line.hurt)
		}
	}
	t.Log(line.hurt, line.calls)
}

// A node accepts a transaction and says that it did not. Such an answer is neither success nor
// failure: the transaction is looked up, not signed anew, and not given up.
func TestAnswersThatLie(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newFaultyProxy(t, chain, 9)
	n := senderAt(t, "n1", db.URL, line.url, "")
	asked := map[string]string{}
	for i, lie := range []string{"nonce too low", "replacement transaction underpriced", "transaction underpriced?", "insufficient funds for gas"} {
		line.does(harm{belied: 0.6, lie: lie, only: "eth_sendRawTransaction"})
		maps.Copy(asked, requested(t, n, 15*i, 15*i+15))
		judge(t, chain, db.URL, asked)
	}
	if line.count(line.hurt, "belied") < 20 {
		t.Errorf("false answers: %v, want 20 or more, or the test shows nothing", line.hurt)
	}
	if extra := openBooks(t, db.URL).number(`SELECT count(*) FROM conch.pending_attempts WHERE filler`); extra != 0 {
		t.Errorf("%d fillers, want none: nobody cancelled", extra)
	}
}

// A limited pool silently drops transactions, and repeatedly loses all of them: no more than
// max_in_flight are in flight, lost ones are noticed, and the same bytes are sent again.
func TestSilentDrop(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--pool", "0", "--block-time", "0")
	line := newFaultyProxy(t, chain, 2)
	const room = 30
	n := senderAt(t, "n1", db.URL, line.url, fmt.Sprintf("max_in_flight = %d\n", room))
	asked := requested(t, n, 0, 4*room)
	books := openBooks(t, db.URL)
	const hurt = 6 // rounds in which every second pool is lost
	for round := 0; books.number(`SELECT count(*) FROM conch.intents WHERE fate = 'open'`) > 0; round++ {
		until(t, "the pool has something to mine in round %d", func() bool {
			ready, waiting := chain.pooled()
			if ready+waiting > room {
				t.Errorf("%d are in flight, want %d or fewer", ready+waiting, room)
			}
			return ready > 0 || round >= hurt && books.number(`SELECT count(*) FROM conch.pending_transactions WHERE block_hash IS NULL`) == 0
		}, round)
		if round < hurt && round%2 == 0 {
			chain.call("dev_drop", []string{})
			chain.empty(3) // then the node checks whether the pool still has its transactions
			continue
		}
		chain.mine(1)
	}
	judge(t, chain, db.URL, asked)
	again := 0
	for nonce := range len(asked) {
		all := books.attempts(nonce)
		if again += line.count(line.sent, all[0].Raw) - 1; len(all) != 1 || all[0].Filler {
			t.Fatalf("nonce %d was signed %d times, want once: the same bytes are enough", nonce, len(all))
		}
	}
	if again < room/2 || line.count(line.calls, "eth_getTransactionByHash") == 0 {
		t.Errorf("%d were sent again, want 15 or more and lookups, or the test shows nothing", again)
	}
}

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
