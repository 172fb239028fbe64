package contracts

import (
	"fmt"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

// declaration returns what the contract on a chain has to say.
func declaration(a Agreed, chainID uint64) ledger.Contract {
	c := ledger.Contract{
		Chain: chainID, Address: a.Address, Needed: a.Endorsements, Range: uint64(a.RangeSize), Depth: uint64(a.Depth), Life: uint64(a.Life), Domain: domainOf(a), Policy: a.Policy,
	}
	for _, name := range a.Members {
		c.Members = append(c.Members, a.accountOf(name))
	}
	for _, name := range a.Committee {
		c.Committee = append(c.Committee, a.accountOf(name))
	}
	return c
}

// domainOf returns the domain as it is declared. What its rules depend on is part of it: nodes that differ there would
// refuse each other's attempts.
func domainOf(a Agreed) string {
	if a.Domain == notes.Name && a.Issuer != "" {
		return a.Domain + " issued by " + a.accountOf(a.Issuer).String()
	}
	return a.Domain
}

// rulesOf returns the rules of a contract's domain.
func rulesOf(a Agreed) (domain.Rules, error) {
	if a.Domain != notes.Name {
		return nil, fmt.Errorf("%q is no domain of this program: it knows %s", a.Domain, notes.Name)
	}
	if a.accountOf(a.Issuer) == "" {
		return nil, fmt.Errorf("%s needs an issuer: the name of the member that may issue notes", notes.Name)
	}
	return notes.New(a.accountOf(a.Issuer)), nil
}
