package providertest

import (
	"strings"
	"time"
)

func backendProfiles(full bool) []Profile {
	behind := []Behaviour{Fresh, Lag(1), Lag(3), Lag(6)}
	return []Profile{
		{
			Name: "backends-by-request", Finding: "C11", Install: func(p *Provider) { p.Does(PerRequest(behind...)) },
			Who: "load balancers before nodes that are 1 to 6 blocks apart",
		},
		{
			Name: "backends-by-item", Finding: "C11", Install: func(p *Provider) { p.Does(PerItem(behind...)) },
			Who: "mainnet.optimism.io: the calls of one batch may go to nodes that are blocks apart",
		},
		{
			Name: "dead-branch-by-request", Finding: "C1", Fault: Directed,
			Who:     "a load balancer that keeps a node stuck on a dead branch",
			Install: func(p *Provider) { p.Does(deadBackend(p, PerRequest)) },
			Own:     pick(full, []string{"--block-time", "100ms", "--archive"}, nil), // the branch has the states of its fork
		},
		{
			Name: "dead-branch-by-item", Finding: "C1", Fault: Directed,
			Who:     "the same, when the calls of one batch go to several nodes",
			Install: func(p *Provider) { p.Does(deadBackend(p, PerItem)) },
			Own:     pick(full, []string{"--block-time", "100ms", "--archive"}, nil), // the branch has the states of its fork
		},
		{
			Name: "count-cached", Finding: "C7",
			Who: "gateways that answer an account's nonce from a cache of 5 s",
			Install: func(p *Provider) {
				p.Does(Cached("eth_getTransactionCount", pick(full, 5*time.Second, time.Second)))
			},
		},
		{
			Name: "blocks-at-once", Finding: "C11", Install: func(p *Provider) { p.Does(Steps(pick[uint64](full, 40, 10))) },
			Who: "endpoints behind a node that syncs in steps: blocks come 40 at once",
		},
		{
			Name: "blocks-stop", Finding: "§8.22", Fault: Directed, Harmless: true, Own: []string{"--finality", "2"},
			Who:     "a sequencer that makes no block for an hour, and then goes on",
			Install: func(*Provider) {},
		},
	}
}

// deadBackend has one backend on a dead branch. While the switch is on, it answers what is asked about a
// transaction's hash or a block's number, and a healthy one the rest, as where old data comes from another
// store. After that any backend answers anything.
func deadBackend(p *Provider, draw func(...Behaviour) Behaviour) Behaviour {
	drawn := draw(Fresh, Fresh, DeadBranch)
	return func(c *Call, next Answerer) Answer {
		if !p.Fault.IsOn() {
			return drawn(c, next)
		}
		tag, _, _ := c.blockTag()
		byNumber := c.is(headMethods...) && tag != latest && tag != finalized
		ofBranch := strings.HasPrefix(tag+c.text(0), branchMark)
		if byNumber || ofBranch || c.is("eth_getTransactionByHash", "eth_getTransactionReceipt") {
			return DeadBranch(c, next)
		}
		return next(c)
	}
}

func lieProfiles(bool) []Profile {
	lie := func(b func(*Switch) Behaviour) func(*Provider) {
		return func(p *Provider) { p.Does(b(&p.Fault)) }
	}
	return []Profile{
		{
			Name: "lie-count", Finding: "C7", Fault: Takeover, Install: lie(func(s *Switch) Behaviour { return LieCount(s, 4) }),
			Who: "one backend of a provider gives once a nonce that is too high, such as another chain's",
		},
		{
			Name: "lie-stranger", Finding: "C5", Fault: Directed,
			Who:     "one backend without an index puts once an unsigned transaction of the account into a block",
			Install: func(p *Provider) { p.Does(LieStranger(&p.Fault), NoIndex()) },
		},
		{
			Name: "lie-final", Finding: "C2", Fault: Directed, Install: lie(LieFinal),
			Who: "one backend names once a final block that does not exist",
		},
		{
			Name: "lie-head", Finding: "C10", Fault: Directed, Install: lie(func(s *Switch) Behaviour { return LieHead(s, 1_000_000) }),
			Who: "one backend names once a head that is a million blocks too high",
		},
		{
			Name: "lie-revert", Finding: "F7", Fault: Takeover, Install: lie(LieRevert),
			Who: "one backend lacks the newest block, and says that a call reverts which needs it",
		},
		{
			Name: "lie-gas", Finding: "C15", Fault: Takeover,
			Who: "rollups whose intrinsic gas follows the prices of L1: too low in one answer, enough in the next",
			Install: lie(func(s *Switch) Behaviour {
				return RefuseOnce(s, "intrinsic gas too low: gas 21544, minimum needed 24000")
			}),
		},
		{
			Name: "lie-type", Finding: "C15", Fault: Takeover,
			Who:     "one backend that was not upgraded for a fork refuses a transaction's type",
			Install: lie(func(s *Switch) Behaviour { return RefuseOnce(s, "transaction type not supported") }),
		},
	}
}
