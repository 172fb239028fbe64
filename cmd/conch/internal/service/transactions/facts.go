package transactions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/pending/pgstore"
)

// factPatience bounds the answer of an endpoint, a signer or the database.
const factPatience = 5 * time.Second

// examine checks chains and accounts. It opens keys, but signs and sends nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	section := config.Of[*Section](c)
	if section == nil {
		section = &Section{} // there is no configuration
	}
	chains, accounts := section.endpoints(), make([]paying, len(section.accounts))
	ctx, cancel := context.WithTimeout(ctx, 2*factPatience)
	defer cancel()
	var asking sync.WaitGroup
	for i, one := range chains {
		asking.Go(func() {
			d, err := describe(ctx, one)
			if chains[i].lives = d.Lives; err != nil {
				chains[i].fault, chains[i].other, chains[i].vague = err.Error(), errors.Is(err, chain.ErrForeign), errors.Is(err, chain.ErrFinality)
				chains[i].unsupported = errors.Is(err, chain.ErrUnsupported)
			}
		})
	}
	keys := newKeyring()
	claimed, told := recorded(ctx, c, section)
	for i, a := range section.accounts {
		asking.Go(func() {
			accounts[i].Account, accounts[i].claimed = a, claimed[a.id()]
			if err := signs(ctx, keys, a); err != nil {
				accounts[i].fault = err.Error()
			}
			accounts[i].balance, _ = balance(ctx, a) // an error is reported for the chain
		})
	}
	asking.Wait()
	for i, a := range accounts {
		accounts[i].lives = slices.ContainsFunc(chains, func(c endpoint) bool { return c.Name == a.Chain.Name && c.lives })
	}
	return append(judge(c, chains, accounts), judgeWebhooks(section.webhooks, told)...)
}

// endpoints returns every endpoint of every chain, to be checked one by one.
func (s *Section) endpoints() (all []endpoint) {
	for _, c := range s.chains {
		for _, e := range c.places() {
			all = append(all, endpoint{Chain: c, at: e})
		}
	}
	return all
}

func describe(ctx context.Context, e endpoint) (chain.Description, error) {
	driver, err := evm.New(evmConfig(e.Chain, e.at, nil))
	if err != nil {
		return chain.Description{}, err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	return driver.Describe(ctx)
}

func balance(ctx context.Context, a Account) (*big.Int, error) {
	driver, err := evm.New(evmConfig(a.Chain, a.Chain.Endpoints[0], nil))
	if err != nil {
		return nil, err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	return driver.Balance(ctx, a.Address)
}

// signs opens an account's key, asks a service for its public key, or connects to a signer, where a person may have to confirm.
func signs(ctx context.Context, keys *keyring, a Account) error {
	signer, err := keys.open(a)
	if err != nil {
		return err
	}
	disconnect(signer)
	if remote, is := signer.(*evm.Remote); is {
		return remote.Check(ctx)
	}
	if a.Signer == "" {
		return nil
	}
	at, err := url.Parse(a.Signer)
	if err != nil {
		return errors.New("the signer's URL cannot be read")
	}
	port := cmp.Or(at.Port(), map[bool]string{true: "443", false: "80"}[at.Scheme == "https"])
	connection, err := (&net.Dialer{Timeout: factPatience}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return fmt.Errorf("its external signer does not answer: %w", err)
	}
	return connection.Close()
}

// recorded returns the scope of each account, and how the receivers of webhooks are, as the database has it. Other checks report its errors.
func recorded(ctx context.Context, cfg config.Config, s *Section) (claimed map[accountID]string, told []pgstore.HookState) {
	claimed = map[accountID]string{}
	if cfg.Node.Standalone || len(s.accounts)+len(s.webhooks) == 0 {
		return claimed, nil
	}
	db, err := pgstore.Open(ctx, cfg.Database.Connection(" doctor"), 1)
	if err != nil {
		return claimed, nil
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	_ = db.Claims(ctx, func(id string, account chain.Account, scope string) { claimed[accountID{id, account}] = scope })
	told, _ = db.HookStates(ctx)
	return claimed, told
}
