package providertest

import "net/http"

// worstProfiles has the one with all that one provider can do wrong at the same time, without a lie.
func worstProfiles(full bool) []Profile {
	return []Profile{{
		Name: "worst", Finding: "F3", Intents: 40, Own: []string{"--block-time", "500ms"},
		Who: "a public gateway on a bad day: backends of different heights, an allowance, small batches, calls that fail, " +
			"a relay that forgets, answers that are lost or slow",
		Install: func(p *Provider) {
			p.Carries(
				RateLimit(100, 100, true), BatchLimit(10, ByItems), everySecond(Gateway(sendRaw, http.StatusGatewayTimeout)), Shuffled(),
				Trickle(4, pick(full, twenty, twenty/4)),
			)
			p.Does(Falters(20), PerItem(Fresh, Lag(1), Lag(3), Lag(6)), Forgets(2))
		},
	}}
}
