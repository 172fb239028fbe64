package providertest

import (
	"net/http"
	"time"
)

const twenty = 20 * time.Millisecond

func dataProfiles(bool) []Profile {
	does := func(b ...Behaviour) func(*Provider) { return func(p *Provider) { p.Does(b...) } }
	passing := func(b Behaviour) func(*Provider) {
		return func(p *Provider) { p.Does(b.While(&p.Fault)) }
	}
	return []Profile{
		{
			Name: "index-missing", Finding: "C13", Install: does(NoIndex()),
			Who: "nodes that keep no index of transactions: what is in a block is unknown by its hash",
		},
		{
			Name: "index-in-progress", Finding: "C13", Fault: Passing, Blocks: 20, Install: passing(Indexing()),
			Who: "geth after a start: an error while the index is made",
		},
		{
			Name: "receipts-late", Finding: "C11", Fault: Passing, Blocks: 20, Install: passing(LateReceipts(1_000_000)),
			Who: "providers whose receipts come later than their blocks, by seconds",
		},
		{
			Name: "receipts-of-another-block", Finding: "R2", Fault: Passing, Blocks: 15, Install: passing(ReceiptsElsewhere()),
			Who: "a provider whose store of receipts has another branch than its blocks, for a while",
		},
		{
			Name: "receipts-without-status", Finding: "R2", Fault: Passing, Blocks: 15, Install: passing(ReceiptsWithout("status")),
			Who: "indexers that fill in the status later",
		},
		{
			Name: "system-transactions", Finding: "F21", Install: does(SystemTransactions()),
			Who: "OP-stack rollups: each block begins with a transaction of a type of its own",
		},
	}
}

func answerProfiles(full bool) []Profile {
	carries := func(t ...Transport) func(*Provider) { return func(p *Provider) { p.Carries(t...) } }
	passing := func(t Transport) func(*Provider) {
		return func(p *Provider) { p.Carries(t.While(&p.Fault)) }
	}
	return []Profile{
		{
			Name: "page", Finding: "§8.13", Fault: Passing, Blocks: 15,
			Who:     "gateways behind a content network: 200 and a page",
			Install: passing(Page(http.StatusOK, "<html><body>Checking your browser</body></html>")),
		},
		{
			Name: "error-under-503", Finding: "§8.13", Fault: Passing, Blocks: 15,
			Who:     "proxies that put a JSON-RPC error under a status of HTTP",
			Install: passing(ErrorUnder(http.StatusServiceUnavailable, -32000, "no healthy backend")),
		},
		{
			Name: "error-without-id", Finding: "§8.13", Fault: Passing, Blocks: 15,
			Who:     "proxies that answer a batch by one error with the id null",
			Install: passing(ErrorUnder(http.StatusOK, -32603, "internal error")),
		},
		{
			Name: "answers-shuffled", Finding: "§8.13", Install: carries(Shuffled()),
			Who: "gateways that answer a batch in another order, as the standard allows",
		},
		{
			Name: "answers-short", Finding: "§8.13", Fault: Passing, Blocks: 15, Install: passing(Short()),
			Who: "gateways that leave out what a backend did not answer in time",
		},
		{
			Name: "answers-doubled", Finding: "§8.13", Install: carries(Doubled()),
			Who: "gateways that ask two backends and pass on what both say",
		},
		{
			Name: "answers-gzip", Finding: "§8.14", Install: carries(Gzip()),
			Who: "gateways that compress what they answer",
		},
		{
			Name: "answers-trickle", Finding: "§8.14", Install: carries(Trickle(4, pick(full, twenty, twenty/4))),
			Who: "slow lines: each answer comes in parts",
		},
	}
}

// badProfiles are endpoints that are of no use. The transactions wait, and the reason is told.
func badProfiles(bool) []Profile {
	lasting := func(t Transport) func(*Provider) {
		return func(p *Provider) { p.Carries(t.While(&p.Fault)) }
	}
	return []Profile{
		{
			Name: "bad-page", Finding: "§8.13", Fault: Lasting, Says: []string{"'<'", "JSON", "HTML", "page"},
			Who:     "a URL that is not the endpoint's: a page for every request",
			Install: lasting(Page(http.StatusOK, "<html><body>Welcome</body></html>")),
		},
		{
			Name: "bad-half", Finding: "§8.13", Fault: Lasting, Says: []string{"EOF", "JSON"}, Install: lasting(Half()),
			Who: "a proxy that cuts each answer in half and says that it is whole",
		},
		{
			Name: "bad-silence", Finding: "§8.13", Fault: Lasting, Timeout: time.Second, Says: []string{"deadline", "time", "no answer"}, Install: lasting(Silent()),
			Who: "an endpoint that takes requests and answers none",
		},
		{
			Name: "bad-endless", Finding: "§8.13", Fault: Lasting, Says: []string{"too large"}, Install: lasting(Endless(1<<30, func(int) {})),
			Who: "a broken gateway whose answer goes on and on",
		},
		{
			Name: "bad-refusal", Finding: "§8.13", Fault: Lasting, Says: []string{"401"},
			Who:     "an endpoint whose key was revoked",
			Install: lasting(Page(http.StatusUnauthorized, `{"error":"invalid project id"}`)),
		},
		{
			Name: "bad-genesis", Finding: "§8.20", Fault: Directed,
			Who:     "a fork of a chain that kept its ID: the same chain ID, another genesis",
			Install: func(p *Provider) { p.Does(Elsewhere().While(&p.Fault)) },
		},
	}
}

func socketProfiles(full bool) []Profile {
	return []Profile{
		{
			Name: "socket-ends", Finding: "F3", WS: true, Install: func(p *Provider) { p.sockets.life = pick(full, 30*time.Second, time.Second) },
			Who: "providers that end each WebSocket after 30 s",
		},
		{
			Name: "socket-without-heads", Finding: "R9", WS: true, Fault: Passing, Blocks: 20,
			Who:     "WebSockets whose subscription falls silent while they answer calls",
			Install: func(p *Provider) { p.sockets.headless = &p.Fault },
		},
		{
			Name: "socket-skips-heads", Finding: "R9", WS: true,
			Who: "WebSockets that skip some heads and announce others twice",
			Install: func(p *Provider) {
				p.sockets.announces = func(height uint64) []uint64 {
					if height%2 == 0 {
						return nil
					}
					return []uint64{height, height}
				}
			},
		},
		{
			Name: "socket-deaf", Finding: "R9", WS: true, Fault: Directed, Install: func(*Provider) {},
			Who: "a line that is lost without an end: the WebSocket stays open and nothing comes",
		},
		{
			Name: "socket-pings-only", Finding: "R9", WS: true, Fault: Directed, Install: func(p *Provider) { p.sockets.pongs = true },
			Who: "a gateway that has lost its node: the WebSocket stays open, pings are answered and calls are not",
		},
	}
}
