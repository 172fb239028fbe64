package doctor

import (
	"fmt"
	"math/big"
)

// Chain is one that a configuration names.
type Chain struct {
	Name  string
	ID    string
	Fault string // why nothing can be sent there, as one sentence
	Other bool   // the endpoint serves another chain
}

// Account is one that a configuration sends from.
type Account struct {
	Name    string
	Address string
	Chain   string // its name
	Fault   string // why nothing can be signed for it
	Balance *big.Int
	Scope   string // as configured
	Claimed string // under which the database has it; empty: none yet, or not known
}

const unnamed = "none looked at: --config names a file that has some"

// chains finds endpoints that a node would not start with, or could send nothing to.
func chains(f Facts) (found []Finding) {
	for _, c := range f.Chains {
		switch {
		case c.Other:
			found = append(found, fail(fmt.Sprintf("chain %q: %s", c.Name, c.Fault), "correct chain_id or url: a transaction for one chain is worthless on another")...)
		case c.Fault != "":
			found = append(found, fail(fmt.Sprintf("chain %q can not be asked: %s", c.Name, c.Fault), "look at its url, and whether its node runs; until then transactions are accepted and none is sent")...)
		}
	}
	switch {
	case len(f.Chains) == 0:
		return ok(unnamed)
	case len(found) == 0:
		return ok(fmt.Sprintf("%s as configured", count(len(f.Chains), "chain answers", "chains answer")))
	}
	return found
}

// keys finds accounts that nothing can be signed for.
func keys(f Facts) (found []Finding) {
	for _, a := range f.Accounts {
		if a.Fault != "" {
			found = append(found, fail(fmt.Sprintf("account %q: %s", a.Name, a.Fault), "mend the keystore, its password_file or the signer: a node does not start without a key, and signs nothing while a signer is away")...)
		}
	}
	switch {
	case len(f.Accounts) == 0:
		return ok(unnamed)
	case len(found) == 0:
		return ok(fmt.Sprintf("%s signed for", count(len(f.Accounts), "account can be", "accounts can be")))
	}
	return found
}

// funds finds accounts that can not pay for anything.
func funds(f Facts) (found []Finding) {
	seen := 0
	for _, a := range f.Accounts {
		if a.Balance == nil {
			continue // its chain was found out already
		}
		if seen++; a.Balance.Sign() == 0 {
			found = append(found, warn(fmt.Sprintf("account %q, %s, has nothing", a.Name, a.Address), "fund it: what is accepted waits until it can pay")...)
		}
	}
	switch {
	case len(f.Accounts) == 0:
		return ok(unnamed)
	case len(found) == 0:
		return ok(fmt.Sprintf("%s something", count(seen, "account has", "accounts have")))
	}
	return found
}

// claims finds accounts that the database refuses, since they are sent from under
// another scope.
func claims(f Facts) (found []Finding) {
	for _, a := range f.Accounts {
		if a.Claimed != "" && a.Claimed != a.Scope {
			found = append(found, fail(fmt.Sprintf("account %q is configured under the scope %q, and is sent from under %q: two scopes would both sign its nonces", a.Name, a.Scope, a.Claimed),
				"name the same scope everywhere; once nothing of the account is pending, its owner may delete its row of conch.pending_accounts")...)
		}
	}
	switch {
	case len(f.Accounts) == 0:
		return ok(unnamed)
	case len(found) == 0:
		return ok("no account is sent from under another scope than the configured one")
	}
	return found
}
