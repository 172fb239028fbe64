package providertest

import "net/http"

// required are the methods that every provider has.
var required = []string{
	"eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionCount", "eth_getBalance",
	"eth_estimateGas", "eth_call", "eth_gasPrice", sendRaw, "eth_getTransactionByHash", "eth_getTransactionReceipt",
}

// allowed is a common allow-list of a gateway.
var allowed = append([]string{
	"eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_getLogs", "eth_getCode", "eth_syncing", "net_version", "eth_getBlockReceipts",
}, required...)

const many, few = 120, 20 // intents, above the limits of 100 and of 10

// most is so many that a leader, which begins with a few and doubles them, sends more than 100 at once,
// if no block comes meanwhile.
const most = 280

// seldom are the flags of a node with few blocks.
var seldom = []string{"--block-time", "500ms"}

func limitProfiles(bool) []Profile {
	carries := func(t Transport) func(*Provider) { return func(p *Provider) { p.Carries(t) } }
	return []Profile{
		{
			Name: "batch-100-object", Finding: "F2", Intents: most, Own: seldom, Install: carries(BatchLimit(100, ByObject)),
			Who: "Polygon's bor and erigon refuse a batch above 100 by one error object",
		},
		{
			Name: "batch-100-items", Finding: "F2", Intents: most, Own: seldom, Install: carries(BatchLimit(100, ByItems)),
			Who: "gateways that answer each call of a batch above 100 by the error",
		},
		{
			Name: "batch-100-413", Finding: "F2", Intents: most, Own: seldom, Install: carries(BatchLimit(100, ByStatus)),
			Who: "proxies that refuse a batch above 100 by HTTP 413",
		},
		{
			Name: "batch-10-object", Finding: "F2", Intents: few, Install: carries(BatchLimit(10, ByObject)),
			Who: "Infura's limit as Safe found it: 10, by one error object",
		},
		{
			Name: "batch-10-items", Finding: "F2", Intents: few, Install: carries(BatchLimit(10, ByItems)),
			Who: "the same limit, by an error for each call",
		},
		{
			Name: "batch-10-413", Finding: "F2", Intents: few, Install: carries(BatchLimit(10, ByStatus)),
			Who: "mainnet.optimism.io: 10, by HTTP 413",
		},
		{
			Name: "no-batches", Finding: "F2", Install: carries(NoBatches()),
			Who: "public gateways that take single calls only",
		},
		{
			Name: "allow-list", Finding: "F5", Install: carries(AllowList(allowed...)),
			Who: "gateways that answer 403 to a whole request with one method that is not on their list",
		},
	}
}

// rateProfiles limit calls by time.
func rateProfiles(full bool) []Profile {
	// Ten blocks a second would use up most of the allowance, so their nodes have few. A leader asks for no more than the
	// pool takes, so on a slow machine it stays below 100.
	calls := pick(full, 100, 40)
	carries := func(t Transport) func(*Provider) { return func(p *Provider) { p.Carries(t) } }
	return []Profile{
		{
			Name: "rate-429", Finding: "F3", Intents: many, Install: carries(RateLimit(calls, calls, false)),
			Own: seldom,
			Who: "public endpoints: HTTP 429 for a whole request above an allowance, without more words",
		},
		{
			Name: "rate-configured", Finding: "R9", Intents: many, Install: carries(RateLimit(100, 100, false)),
			Own: seldom, Calls: 100, Harmless: true,
			Who: "a provider whose limit is in the configuration: nothing is refused but what a new leader asks in its first moment",
		},
		{
			Name: "rate-429-retry-after", Finding: "F3", Intents: many, Install: carries(RateLimit(calls, calls, true)),
			Own: seldom,
			Who: "Alchemy and Infura: HTTP 429 with Retry-After",
		},
		{
			Name: "rate-items", Finding: "F3", Intents: many, Install: func(p *Provider) { p.Does(CallLimit(calls, calls)) },
			Own: seldom,
			Who: "Infura: the calls of a batch above the allowance have the error -32005, the others an answer",
		},
		{
			Name: "answer-limit", Finding: "§8.14", Intents: many, Install: carries(AnswerLimit(60_000)),
			// Forty transactions are in a block of a million gas. Hundreds would not fit, also of other profiles.
			Own: pick(full, []string{"--block-time", "100ms", "--gas-limit", "1000000"}, nil),
			Who: "servers that refuse an answer above a size, such as 10 MB: a block fits, and a batch of answers may not",
		},
		{
			Name: "quota", Finding: "F3", Fault: Passing, Blocks: 20,
			Who: "providers out of credits: 402 for every request until the next period begins",
			Install: func(p *Provider) {
				p.Carries(Page(http.StatusPaymentRequired, `{"error":"quota for today exceeded"}`).While(&p.Fault))
			},
		},
	}
}
