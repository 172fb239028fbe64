package providertest

import "net/http"

func poolProfiles(bool) []Profile {
	does := func(b ...Behaviour) func(*Provider) { return func(p *Provider) { p.Does(b...) } }
	return []Profile{
		{
			Name: "methods-required-only", Finding: "F6", Install: does(Only(required...)),
			Who: "minimal clients and gateways: -32601 for fee suggestions, receipts of a block, eth_config and debug",
		},
		{
			Name: "methods-no-block-receipts", Finding: "F6",
			Who:     "older clients: no receipts of a block and no headers alone",
			Install: does(Without("eth_getBlockReceipts", "debug_getRawReceipts", "eth_getHeaderByNumber", "eth_config")),
		},
		{
			Name: "pool-16-slots", Finding: "F18", Intents: 160, FewSlots: true, Own: seldom,
			Who:     "reth keeps 16 transactions of an account by default, and calls the sender a spammer",
			Install: does(AccountSlots(16, "rejected due to 0x7070 being identified as a spammer")),
		},
		{
			Name: "pool-one-in-flight", Finding: "§8.17", FewSlots: true,
			Who:     "geth keeps one transaction of an account that has delegated to code by EIP-7702",
			Install: does(AccountSlots(1, "in-flight transaction limit reached for delegated accounts")),
		},
		{
			Name: "pool-without-gaps", Finding: "C19", FewSlots: true, Install: does(NoGaps()),
			Who: "sequencers without a pool, such as Arbitrum's: the next nonce alone",
		},
		{
			Name: "pool-counted", Finding: "C7", Install: does(CountsPool()),
			Who: "gateways whose latest nonce includes the pool",
		},
	}
}

// lossProfiles lose transactions, or answers about them.
func lossProfiles(full bool) []Profile {
	passing := pick[uint64](full, 60, 15)
	does := func(b ...Behaviour) func(*Provider) { return func(p *Provider) { p.Does(b...) } }
	swallow := func(shown bool) func(*Provider) {
		return func(p *Provider) { p.Does(Swallow(&p.Fault, shown)) }
	}
	refusal := func(text string) func(*Provider) {
		return func(p *Provider) { p.Does(NoReplacement(&p.Fault, text)) }
	}
	return []Profile{
		{
			Name: "pool-swallows", Finding: "C12", Fault: Passing, Blocks: passing, Install: swallow(false),
			Who: "a node cut off from its peers accepts transactions and passes none on, for a while",
		},
		{
			Name: "pool-swallows-and-shows", Harmless: true, Finding: "C12", Fault: Passing, Blocks: passing, Install: swallow(true),
			Who: "the same, and the node shows them in its pool",
		},
		{
			Name: "pool-forgets", Finding: "C12", Install: does(Forgets(2)),
			Who: "private relays that forget what they could not place",
		},
		{
			Name: "pool-no-replacement", Harmless: true, Finding: "C16", Fault: Passing, Blocks: passing, Install: refusal("replacement transaction underpriced"),
			Who: "pools that replace nothing, or want twice the fee, for a transaction that is not included for a while",
		},
		{
			Name: "pool-hidden", Finding: "C11", Fault: Passing, Blocks: passing,
			Who:     "sequencers and private relays: until a transaction is in a block, it is unknown by its hash",
			Install: func(p *Provider) { p.Does(HiddenPool(), NoReplacement(&p.Fault, "already known")) },
		},
		{
			Name: "send-504", Finding: "C12", Install: func(p *Provider) { p.Carries(everySecond(Gateway(sendRaw, http.StatusGatewayTimeout))) },
			Who: "gateways that pass a transaction on and answer 504",
		},
		{
			Name: "send-refused-by-policy", Finding: "C12", Fault: Directed, Says: []string{"sender is not permitted"},
			Who: "providers that refuse a sender, a recipient or a size for good",
			Install: func(p *Provider) {
				p.Does(Refuses(-32000, "sender is not permitted by this provider's policy").While(&p.Fault))
			},
		},
		{
			Name: "nonce-without-transaction", Finding: "C14", Fault: Directed,
			Who:     "every chain with EIP-7702: an authorization raises the account's nonce in another sender's transaction",
			Install: func(p *Provider) { p.Does(Swallow(&p.Fault, false)) },
		},
	}
}

// everySecond applies a transport to each second request that it fits, the first included.
func everySecond(t Transport) Transport {
	var n Switch
	return func(r *Request, next Server) *Reply {
		if !r.has(sendRaw) || n.take() {
			return next(r)
		}
		n.On()
		return t(r, next)
	}
}
