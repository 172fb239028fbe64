package transactions

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/pending/pgstore"
)

// endpoint has the facts about a chain.
type endpoint struct {
	Chain
	at    Endpoint
	fault string // why nothing can be sent there; empty: it can
	other bool   // the endpoint serves another chain
	vague bool   // nothing says which of its blocks are final

	unsupported bool // nothing can be signed for it
	lives       bool // accounts there may cease to exist, and begin anew
}

// paying has the facts about an account.
type paying struct {
	Account
	fault   string   // why nothing can be signed for it; empty: it can
	balance *big.Int // nil if unknown
	claimed string   // its scope in the database; empty if there is none yet, or unknown
	lives   bool     // it may cease to exist, and begin anew
}

// judge makes all checks of what there is. A standalone node claims no account, since it has no election.
func judge(c config.Config, chains []endpoint, accounts []paying) (all []doctor.Finding) {
	if len(chains) > 0 {
		all = doctor.About("chains", judgeChains(chains)...)
	}
	if len(accounts) == 0 {
		return all
	}
	all = append(all, doctor.About("keys", judgeKeys(accounts)...)...)
	all = append(all, doctor.About("funds", judgeFunds(accounts)...)...)
	if !c.Node.Standalone {
		all = append(all, doctor.About("claims", judgeClaims(accounts)...)...)
	}
	return all
}

// judgeChains finds endpoints that a node would not start with, or could send nothing to.
func judgeChains(chains []endpoint) (found []doctor.Finding) {
	works := map[string]bool{}
	for _, c := range chains {
		if c.fault == "" {
			works[c.Name] = true
		}
	}
	for _, c := range chains {
		switch {
		case c.fault != "" && !c.vague && works[c.Name]:
			found = append(found, doctor.Warning(fmt.Sprintf("chain %q: one of its endpoints is not used: %s", c.Name, c.fault), "check its url and its chain; the others are used meanwhile"))
		case c.other:
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q: %s", c.Name, c.fault), "correct chain_id or url: a transaction for one chain is worthless on another"))
		case c.unsupported:
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q: %s", c.Name, c.fault), sayUnsupported))
		case c.vague:
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q: %s", c.Name, c.fault), sayFinality))
		case c.fault != "":
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q does not answer: %s", c.Name, c.fault), "check its url, and that its node runs; until then transactions are accepted and none is sent"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s as configured", doctor.Count(len(works), "chain answers", "chains answer")))}
	}
	return found
}

// judgeKeys finds accounts that nothing can be signed for, or is signed for.
func judgeKeys(accounts []paying) (found []doctor.Finding) {
	for _, a := range accounts {
		if a.lives && a.SharedKey {
			found = append(found, doctor.Failure(fmt.Sprintf("account %q has shared_key, and on chain %q an account may cease to exist and begin anew", a.Name, a.Chain.Name),
				"take shared_key out, and let nobody else send with the key: old transactions could be carried out once more, so a node sends none"))
		}
		if a.fault != "" {
			found = append(found, doctor.Failure(fmt.Sprintf("account %q: %s", a.Name, a.fault), "correct the keystore, its password_file or the signer: a node does not start without a key, and signs nothing while a signer does not answer"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s signed for", doctor.Count(len(accounts), "account can be", "accounts can be")))}
	}
	return found
}

// judgeFunds finds accounts that cannot pay for anything.
func judgeFunds(accounts []paying) (found []doctor.Finding) {
	seen := 0
	for _, a := range accounts {
		if a.balance == nil {
			continue // judgeChains reports the chain
		}
		if seen++; a.balance.Sign() == 0 {
			found = append(found, doctor.Warning(fmt.Sprintf("account %q, %s, has nothing", a.Name, a.Address), "fund it: accepted transactions wait until it can pay"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s something", doctor.Count(seen, "account has", "accounts have")))}
	}
	return found
}

// judgeClaims finds accounts that the database has under another scope, and so refuses.
func judgeClaims(accounts []paying) (found []doctor.Finding) {
	for _, a := range accounts {
		if a.claimed != "" && a.claimed != a.Scope {
			found = append(found, doctor.Failure(fmt.Sprintf("account %q is configured under the scope %q, and is sent from under %q: two scopes would both sign its nonces", a.Name, a.Scope, a.claimed),
				"configure the same scope everywhere; once nothing of the account is pending, the owner of the schema may delete its row of conch.pending_accounts"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well("no account is sent from under another scope than the configured one")}
	}
	return found
}

// longBehind is how old an event may be of which a receiver was not told, as in deploy/alerts.yaml.
const longBehind = 10 * time.Minute

// judgeWebhooks finds receivers that are not told of transactions. Of one that the database does not know nothing is said: nobody has led the role yet.
func judgeWebhooks(all []Webhook, states []pgstore.HookState) []doctor.Finding {
	var found []doctor.Finding
	for _, w := range all {
		at := slices.IndexFunc(states, func(s pgstore.HookState) bool { return s.Name == w.Name })
		if at < 0 {
			continue
		}
		s := states[at]
		switch {
		case !s.Failing.IsZero():
			found = append(found, doctor.Warning(fmt.Sprintf("webhook %q takes nothing since %s: %s; %d of its events wait", w.Name, s.Failing.UTC().Format(time.RFC3339), cli.Inert(s.Why), s.Waiting),
				"mend its receiver: it is tried again every minute, and told of all that has waited for less than three days"))
		case s.Behind > longBehind:
			found = append(found, doctor.Warning(fmt.Sprintf("webhook %q was not told of an event of %s ago", w.Name, s.Behind.Round(time.Second)),
				fmt.Sprintf("see with \"conch status %s\" whether a node leads the scope %s", hooksScope, hooksScope)))
		}
		if s.Dead > 0 {
			found = append(found, doctor.Warning(fmt.Sprintf("%s of webhook %q dead: nobody tries to tell it any more", doctor.Count(s.Dead, "event is", "events are"), w.Name),
				fmt.Sprintf("look at them with \"conch webhooks list --dead %s\", and have them told again with \"conch webhooks replay %s --dead\"", w.Name, w.Name)))
		}
	}
	if len(found) == 0 && len(all) > 0 {
		found = []doctor.Finding{doctor.Well("no receiver of webhooks is behind")}
	}
	return doctor.About("webhooks", found...)
}
