package providertest

func finalityProfiles(full bool) []Profile {
	behind := pick[uint64](full, 1000, 24)
	kept := pick[uint64](full, 128, 8)
	stall := pick[uint64](full, 1000, 24)
	return []Profile{
		{
			Name: "pruned", Finding: "F1", Harmless: true, Install: func(p *Provider) { p.Does(Pruned(kept)) },
			Who: "a full node keeps 128 states; finality is nearer than that",
		},
		{
			Name: "finality-behind", Finding: "F15", Install: func(p *Provider) { p.Does(FinalityBehind(behind)) },
			Who: "a rollup: finality is 1,000 blocks behind the head",
		},
		{
			Name: "finality-behind-pruned", Finding: "F1", Install: func(p *Provider) { p.Does(FinalityBehind(behind), Pruned(kept)) },
			Who: "a full node of an OP-stack rollup: finality is 1,000 blocks behind, and 128 states are kept",
		},
		{
			Name: "depth-pruned", Harmless: true, Finding: "F1", Depth: 2 * kept, Install: func(p *Provider) { p.Does(Pruned(kept)) },
			Who: "a full node, and a finality in conch.toml that is deeper than its states",
		},
		{
			Name: "finality-stalls", Finding: "F1", Fault: Directed, Blocks: pick[uint64](full, 1000, 4), Install: func(p *Provider) { p.Does(FinalityStalls(&p.Fault)) },
			Who: "an archive node in an incident of consensus, such as mainnet's of May 2023",
		},
		{
			Name: "finality-stalls-pruned", Finding: "F1", Fault: Directed, Blocks: stall,
			Who:     "a full node in the same incident, which lasts longer than it keeps states",
			Install: func(p *Provider) { p.Does(FinalityStalls(&p.Fault), Pruned(kept)) },
		},
	}
}

// tagProfiles are those of the tag "finalized" itself.
func tagProfiles(full bool) []Profile {
	passing := func(b Behaviour) func(*Provider) {
		return func(p *Provider) { p.Does(b.While(&p.Fault)) }
	}
	return []Profile{
		{
			Name: "finality-is-latest", Harmless: true, Finding: "C3", Fault: Directed, Own: []string{"--finality", "0"},
			Who:     "sequencers and forks of geth that call their head final, and take it back",
			Install: func(p *Provider) { p.Does(FinalityIsLatest()) },
		},
		{
			Name: "finality-tag-missing", Harmless: true, Finding: "C3", Depth: 6,
			Who: "chains without the tag: the number of blocks is in conch.toml",
			Install: func(p *Provider) {
				p.Does(FinalityAnswers(Answer{Err: &RPCError{Code: -32602, Message: "invalid block tag"}}))
			},
		},
		{
			Name: "finality-errs", Finding: "C3", Fault: Passing, Blocks: 20,
			Who:     "gateways whose finalized block is unavailable for a while",
			Install: passing(FinalityAnswers(Answer{Err: &RPCError{Code: -39001, Message: "finalized block not found"}})),
		},
		{
			Name: "finality-is-null", Finding: "C3", Fault: Passing, Blocks: 20,
			Who:     "nodes that answer null for the final block after their start",
			Install: passing(FinalityAnswers(Answer{Result: null})),
		},
		{
			Name: "finality-is-zero", Finding: "C3", Fault: Passing, Blocks: 20,
			Who:     "nodes that name block 0 as final after their start",
			Install: passing(FinalityIsZero()),
		},
		{
			Name: "finality-goes-back", Finding: "C3",
			Who:     "two nodes behind one address whose final blocks differ",
			Install: func(p *Provider) { p.Does(FinalityGoesBack(5)) },
		},
		{
			Name: "rolled-back", Finding: "C3", Fault: Directed, Blocks: pick[uint64](full, 300, 20), Harmless: true,
			Own:     []string{"--block-time", "100ms", "--finality", "0", "--archive"},
			Who:     "a sequencer takes back hundreds of unsafe blocks, while the final block stands",
			Install: func(*Provider) {},
		},
		{
			Name: "blocks-250ms", Finding: "F15", Harmless: true, Own: []string{"--block-time", "250ms", "--finality", pick(full, "480", "12")},
			Who:     "Arbitrum: a block each 250 ms",
			Install: func(*Provider) {},
		},
	}
}
