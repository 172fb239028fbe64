package transactions

import (
	"fmt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Offered implements node.Offers.
func (a Account) Offered() (out node.Account, signs bool) {
	out = node.Account{Chain: a.Chain.Name, ID: uint64(a.Chain.ChainID), Address: a.Address}
	for _, e := range a.Chain.places() {
		out.Endpoints = append(out.Endpoints, e.URL)
	}
	return out, a.Signer == ""
}

// offer finds an account for another service.
func (s *service) offer(name string) (node.Account, error) {
	a, kept, known := s.accounts.find(name)
	if !known {
		return node.Account{}, fmt.Errorf("%w: %q", node.ErrNoAccount, name)
	}
	out, _ := a.Offered()
	out.Calls = calls{a, kept, s.news}
	out.Dial = func() (chain.Chain, func(), error) {
		shared, release, err := s.chains.acquire(a.Chain, s.connect)
		if err != nil {
			return nil, nil, err
		}
		return shared.driver, release, nil
	}
	if a.Signer != "" || s.dial != nil {
		return out, nil
	}
	signer, err := s.keyring.open(a)
	if err != nil {
		return node.Account{}, err
	}
	if key, is := signer.(*evm.Keystore); is {
		out.Sign = key.SignHash
	}
	return out, nil
}
