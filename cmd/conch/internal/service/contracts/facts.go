package contracts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// factPatience bounds the answer of a chain.
const factPatience = 5 * time.Second

// examine looks at the contracts. It signs and sends nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	s := config.Of[*Section](c)
	if s == nil {
		s = &Section{} // there is no configuration
	}
	ctx, cancel := context.WithTimeout(ctx, 2*factPatience)
	defer cancel()
	agreements := make([]agreement, len(s.contracts))
	var asking sync.WaitGroup
	for i, a := range s.contracts {
		asking.Go(func() { agreements[i] = consult(ctx, c, s.self(), a) })
	}
	asking.Wait()
	return judge(agreements)
}

// consult reads a contract on its chain.
func consult(ctx context.Context, c config.Config, self string, a Agreed) (out agreement) {
	out.Agreed = a
	if err := accountFault(c, self, a); err != nil {
		out.account = err.Error()
	}
	account, _, err := node.Offered(c, a.Account)
	if err != nil {
		return out // without it nobody knows the chain
	}
	out.here = declaration(a, account.ID)
	endpoints, err := evm.Dial(account.Endpoints)
	if err != nil {
		out.away = err.Error()
		return out
	}
	defer endpoints.Close()
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	out.read(ctx, endpoints)
	return out
}

// read fills in what the chain says.
func (a *agreement) read(ctx context.Context, at evm.Node) {
	told := func(err error) {
		if errors.Is(err, ledger.ErrOther) {
			a.other = err.Error()
		} else {
			a.away = err.Error()
		}
	}
	there, err := evm.Read(ctx, at, a.Address)
	if err != nil {
		told(err)
		return
	}
	a.there = there
	reader, err := evm.Check(ctx, at, a.here)
	if err != nil {
		told(err)
		return
	}
	if a.head, a.final, err = reader.Head(ctx); err != nil {
		told(err)
	}
}
