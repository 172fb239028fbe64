package transactions

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/keyservice/awskms"
	"github.com/conchhq/conch/chain/keyservice/gcpkms"
	"github.com/conchhq/conch/chain/keyservice/vault"
)

// keyService is a kind of service that a signer may name, by the word before its first colon.
type keyService struct {
	parse func(key string) error
	open  func(key string) (evm.KeyService, error)
}

var keyServices = map[string]keyService{
	"awskms": {awskms.ParseKey, func(key string) (evm.KeyService, error) {
		c, err := awskms.FromEnvironment(key, os.Getenv)
		if err != nil {
			return nil, err
		}
		return awskms.Open(c)
	}},
	"gcpkms": {gcpkms.ParseKey, func(key string) (evm.KeyService, error) {
		return gcpkms.Open(gcpkms.FromEnvironment(key, os.Getenv))
	}},
	"vault": {vault.ParseKey, func(key string) (evm.KeyService, error) {
		return vault.Open(vault.FromEnvironment(key, os.Getenv))
	}},
}

// keyService returns the service that keeps the account's key, false if none does.
func (a Account) keyService() (of keyService, key string, is bool) {
	name, key, _ := strings.Cut(a.Signer, ":")
	of, is = keyServices[name]
	return of, key, is
}

// openRemote makes the signer of an account whose key a service keeps. It connects to nothing.
func openRemote(a Account) (*evm.Remote, error) {
	of, key, is := a.keyService()
	if !is {
		return nil, errors.New("its signer is no service of keys") // the caller has looked
	}
	service, err := of.open(key)
	if err != nil {
		return nil, fmt.Errorf("%w %v: %w", chain.ErrKey, a.Address, err)
	}
	return evm.NewRemote(a.Address, service), nil
}
