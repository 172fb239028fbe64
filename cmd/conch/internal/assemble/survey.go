package assemble

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/pending/pgstore"
)

// surveyPatience is how long an endpoint or a signer has to say something.
const surveyPatience = 5 * time.Second

// Survey finds out for a doctor what a node would meet at the chains and accounts of a
// configuration. It signs nothing and sends nothing; it opens keys.
func Survey(ctx context.Context, cfg config.Config) ([]doctor.Chain, []doctor.Account) {
	chains, accounts := make([]doctor.Chain, len(cfg.Chains)), make([]doctor.Account, len(cfg.Accounts))
	ctx, cancel := context.WithTimeout(ctx, 2*surveyPatience)
	defer cancel()
	var asking sync.WaitGroup
	for i, c := range cfg.Chains {
		asking.Go(func() {
			chains[i] = doctor.Chain{Name: c.Name, ID: c.ID()}
			if _, err := describe(ctx, c); err != nil {
				chains[i].Fault, chains[i].Other = err.Error(), errors.Is(err, chain.ErrForeign)
			}
		})
	}
	keys, claimed := newKeyring(), claims(ctx, cfg)
	for i, a := range cfg.Accounts {
		asking.Go(func() {
			accounts[i] = doctor.Account{
				Name: a.Name, Address: a.Address.String(), Chain: a.Chain.Name, Scope: a.Scope, Claimed: claimed[seatOf(a)],
			}
			if err := signs(ctx, keys, a); err != nil {
				accounts[i].Fault = err.Error()
			}
			accounts[i].Balance, _ = balance(ctx, a) // its silence is the chain's, which is told there
		})
	}
	asking.Wait()
	return chains, accounts
}

func describe(ctx context.Context, c config.Chain) (chain.Description, error) {
	driver, err := evm.New(evmConfig(c))
	if err != nil {
		return chain.Description{}, err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	return driver.Describe(ctx)
}

func balance(ctx context.Context, a config.Account) (*big.Int, error) {
	driver, err := evm.New(evmConfig(a.Chain))
	if err != nil {
		return nil, err
	}
	defer driver.Close()
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	return driver.Balance(ctx, a.Address)
}

// signs opens an account's key. A signer is only looked for: to ask it could be to ask
// a person.
func signs(ctx context.Context, keys *keyring, a config.Account) error {
	signer, err := keys.open(a)
	if err != nil {
		return err
	}
	hangUp(signer)
	if a.Signer == "" {
		return nil
	}
	at, err := url.Parse(a.Signer)
	if err != nil {
		return errors.New("the signer's URL can not be read")
	}
	port := at.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[at.Scheme == "https"]
	}
	line, err := (&net.Dialer{Timeout: surveyPatience}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return fmt.Errorf("its external signer does not answer: %w", err)
	}
	return line.Close()
}

// claims are the scopes under which the database has accounts, as far as it can be
// asked: what is wrong with it is told elsewhere.
func claims(ctx context.Context, cfg config.Config) map[seat]string {
	found := map[seat]string{}
	if cfg.Node.Standalone {
		return found
	}
	db, err := pgstore.Open(ctx, connection(cfg.Database, " doctor"), 1)
	if err != nil {
		return found
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	_ = db.Claims(ctx, func(id string, account chain.Account, scope string) { found[seat{id, account}] = scope })
	return found
}
