package providertest

import (
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/chain"
)

// Provider is a JSON-RPC server before a node. It is safe for concurrent use.
type Provider struct {
	Profile Profile
	// Fault is the switch of the profile's fault. A profile without one behaves the same all the time.
	Fault Switch
	// Hold keeps transactions back while it is on: they are accepted, and the node never sees them. A test
	// passes them on when it likes.
	Hold Switch

	server     *httptest.Server
	upstream   atomic.Pointer[Node]
	answer     Answerer
	serve      Server
	behaviours []Behaviour
	transports []Transport
	sockets    sockets

	requests, refused, strikes, underWay atomic.Int64

	mu    sync.Mutex
	rand  *rand.Rand
	calls map[string]int
	sent  []Transaction
	aim   aim
}

// aim is what a lie of a profile is about.
type aim struct {
	account chain.Account
	nonce   uint64
	branch  *branch // of the backend on a dead branch
	other   *Node   // of another chain
}

// Start starts a provider of a profile before a node. It ends with the test.
func Start(t testing.TB, node *Node, profile Profile) *Provider {
	t.Helper()
	p := &Provider{Profile: profile, calls: map[string]int{}, rand: rand.New(rand.NewPCG(20, 1))} //nolint:gosec // a test repeats its draws
	p.upstream.Store(node)
	if profile.Install != nil {
		profile.Install(p)
	}
	p.answer = chained(append(p.behaviours, p.hold), p.forward)
	p.serve = stacked(p.transports, p.answerAll)
	p.server = httptest.NewServer(p)
	t.Cleanup(p.close)
	return p
}

func (p *Provider) close() {
	p.sockets.end()
	p.server.CloseClientConnections()
	p.server.Close()
}

// HTTP returns the URL.
func (p *Provider) HTTP() string { return p.server.URL }

// WS returns the URL for WebSockets.
func (p *Provider) WS() string { return "ws" + strings.TrimPrefix(p.server.URL, "http") }

// Host returns what an error has to name: host and port.
func (p *Provider) Host() string { return strings.TrimPrefix(p.server.URL, "http://") }

// Does adds behaviours of calls, the first one outermost. Only a profile calls it.
func (p *Provider) Does(b ...Behaviour) { p.behaviours = append(p.behaviours, b...) }

// Carries adds behaviours of requests, the first one outermost. Only a profile calls it.
func (p *Provider) Carries(t ...Transport) { p.transports = append(p.transports, t...) }

// AimAt says which transaction the lies of the profile are about. Call it before the lie is due, as the other aims.
func (p *Provider) AimAt(account chain.Account, nonce uint64) {
	p.takeAim(aim{account: account, nonce: nonce})
}

// AimBranch gives the backend on a dead branch its blocks: so many above the last one that it has in common with the chain,
// with transactions by height.
func (p *Provider) AimBranch(fork, length uint64, in map[uint64][]Transaction) {
	p.takeAim(aim{branch: &branch{fork: fork, length: length, in: in}})
}

// AimOther names a node of another chain.
func (p *Provider) AimOther(other *Node) { p.takeAim(aim{other: other}) }

func (p *Provider) takeAim(a aim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aim = a
}

func (p *Provider) aimed() aim {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.aim
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		p.sockets.serve(p, w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	request, err := p.parse(r.Context(), body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.handle(request).send(w, request)
}

// handle counts and answers a request.
func (p *Provider) handle(r *Request) *Reply {
	var sent []Transaction
	for _, c := range r.Calls {
		if c.is(sendRaw) {
			sent = append(sent, decode(c.text(0)))
		}
	}
	p.requests.Add(1)
	p.underWay.Add(1)
	defer p.underWay.Add(-1)
	p.mu.Lock()
	p.sent = append(p.sent, sent...)
	for _, c := range r.Calls {
		p.calls[c.Method]++
	}
	p.mu.Unlock()
	return p.serve(r)
}

// answerAll answers the calls one after the other.
func (p *Provider) answerAll(r *Request) *Reply {
	reply := &Reply{Answers: make([]Answer, len(r.Calls))}
	for i, c := range r.Calls {
		a := p.answer(c)
		if a.ID == nil {
			a.ID = c.ID
		}
		reply.Answers[i] = a
	}
	return reply
}

// hold keeps transactions back.
func (p *Provider) hold(c *Call, next Answerer) Answer {
	if c.is(sendRaw) && p.Hold.IsOn() {
		return result(decode(c.text(0)).Hash)
	}
	return next(c)
}

// first reports whether a transaction has come once only.
func (p *Provider) first(hash string) bool {
	times := 0
	for _, tx := range p.Sent() {
		if tx.Hash == hash {
			times++
		}
	}
	return times == 1
}

// forward passes a call on to the node.
func (p *Provider) forward(c *Call) Answer { return p.node().ask(c.request.ctx, c.Method, c.Params...) }

func (p *Provider) node() *Node { return p.upstream.Load() }

const sendRaw = "eth_sendRawTransaction"

func (p *Provider) strike()      { p.strikes.Add(1) }
func (p *Provider) refuse(n int) { p.refused.Add(int64(n)) }

// draw returns a random number below n. The draws of a provider are the same in every run.
func (p *Provider) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rand.IntN(n)
}

// Strikes returns how often the profile has changed an answer. At 0 a test has shown nothing.
func (p *Provider) Strikes() int { return int(p.strikes.Load()) }

// Quiet reports whether no request is under way. A caller that has hung up may have left one.
func (p *Provider) Quiet() bool { return p.underWay.Load() == 0 }

// Requests returns how many requests have come.
func (p *Provider) Requests() int { return int(p.requests.Load()) }

// Refused returns how many calls the provider has refused, alone or with their request.
func (p *Provider) Refused() int { return int(p.refused.Load()) }

// Calls returns how many calls have come, by method.
func (p *Provider) Calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Sent returns the transactions that have come, in order, even those of requests that were refused.
func (p *Provider) Sent() []Transaction {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}
