package transactions

import (
	"fmt"
	"math/big"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
)

// endpoint is a chain, and what was found out about it.
type endpoint struct {
	Chain
	fault string // why nothing can be sent there, as one sentence
	other bool   // it serves another chain
}

// paying is an account, and what was found out about it.
type paying struct {
	Account
	fault   string   // why nothing can be signed for it
	balance *big.Int // nil: not known
	claimed string   // the scope under which the database has it; empty: none yet, or not known
}

// judge goes through all checks. A node alone takes no part in an election, and so claims
// no account.
func judge(chains []endpoint, accounts []paying, standalone bool) (all []doctor.Finding) {
	all = append(all, doctor.About("chains", judgeChains(chains)...)...)
	all = append(all, doctor.About("keys", judgeKeys(accounts)...)...)
	all = append(all, doctor.About("funds", judgeFunds(accounts)...)...)
	if !standalone {
		all = append(all, doctor.About("claims", judgeClaims(accounts)...)...)
	}
	return all
}

const unnamed = "none looked at: --config names a file that has some"

// judgeChains finds endpoints that a node would not start with, or could send nothing to.
func judgeChains(chains []endpoint) (found []doctor.Finding) {
	for _, c := range chains {
		switch {
		case c.other:
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q: %s", c.Name, c.fault), "correct chain_id or url: a transaction for one chain is worthless on another"))
		case c.fault != "":
			found = append(found, doctor.Failure(fmt.Sprintf("chain %q cannot be asked: %s", c.Name, c.fault), "look at its url, and whether its node runs; until then transactions are accepted and none is sent"))
		}
	}
	switch {
	case len(chains) == 0:
		return []doctor.Finding{doctor.Well(unnamed)}
	case len(found) == 0:
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s as configured", doctor.Count(len(chains), "chain answers", "chains answer")))}
	}
	return found
}

// judgeKeys finds accounts that nothing can be signed for.
func judgeKeys(accounts []paying) (found []doctor.Finding) {
	for _, a := range accounts {
		if a.fault != "" {
			found = append(found, doctor.Failure(fmt.Sprintf("account %q: %s", a.Name, a.fault), "mend the keystore, its password_file or the signer: a node does not start without a key, and signs nothing while a signer is away"))
		}
	}
	switch {
	case len(accounts) == 0:
		return []doctor.Finding{doctor.Well(unnamed)}
	case len(found) == 0:
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s signed for", doctor.Count(len(accounts), "account can be", "accounts can be")))}
	}
	return found
}

// judgeFunds finds accounts that cannot pay for anything.
func judgeFunds(accounts []paying) (found []doctor.Finding) {
	seen := 0
	for _, a := range accounts {
		if a.balance == nil {
			continue // its chain was found out already
		}
		if seen++; a.balance.Sign() == 0 {
			found = append(found, doctor.Warning(fmt.Sprintf("account %q, %s, has nothing", a.Name, a.Address), "fund it: what is accepted waits until it can pay"))
		}
	}
	switch {
	case len(accounts) == 0:
		return []doctor.Finding{doctor.Well(unnamed)}
	case len(found) == 0:
		return []doctor.Finding{doctor.Well(fmt.Sprintf("%s something", doctor.Count(seen, "account has", "accounts have")))}
	}
	return found
}

// judgeClaims finds accounts that the database refuses, since they are sent from under
// another scope.
func judgeClaims(accounts []paying) (found []doctor.Finding) {
	for _, a := range accounts {
		if a.claimed != "" && a.claimed != a.Scope {
			found = append(found, doctor.Failure(fmt.Sprintf("account %q is configured under the scope %q, and is sent from under %q: two scopes would both sign its nonces", a.Name, a.Scope, a.claimed),
				"name the same scope everywhere; once nothing of the account is pending, its owner may delete its row of conch.pending_accounts"))
		}
	}
	switch {
	case len(accounts) == 0:
		return []doctor.Finding{doctor.Well(unnamed)}
	case len(found) == 0:
		return []doctor.Finding{doctor.Well("no account is sent from under another scope than the configured one")}
	}
	return found
}
