package transactions

import (
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// managers knows the manager of each account that this node leads. It is safe for concurrent use.
type managers struct {
	sequence *pending.Sequence // of all: after a reload a standalone role goes on in the same term

	mu      sync.Mutex
	leading map[accountID]*pending.Manager
}

func newManagers() *managers {
	return &managers{sequence: new(pending.Sequence), leading: map[accountID]*pending.Manager{}}
}

// register notes the manager that sends an account's transactions, until leave is called. leave calls
// last first, unless another manager of the account has registered meanwhile.
func (ms *managers) register(id accountID, m *pending.Manager, last func()) (leave func()) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.leading[id] = m
	return func() {
		ms.mu.Lock()
		defer ms.mu.Unlock()
		if ms.leading[id] == m {
			last() // no other manager registers before it has returned
			delete(ms.leading, id)
		}
	}
}

// allow tells the manager of an account, if this node leads it, which fee is allowed from now on.
func (ms *managers) allow(a Account) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.leading[a.id()]; m != nil {
		m.Allow(a.mostFee())
	}
}

// wake tells an account's manager, if this node leads it, that a transaction waits.
func (ms *managers) wake(id string, account chain.Account) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.leading[accountID{id, account}]; m != nil {
		m.Wake()
	}
}

// leads reports whether this node sends from an account.
func (ms *managers) leads(id accountID) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.leading[id] != nil
}

// accounts returns those that this node leads.
func (ms *managers) accounts() (all []pgstore.Account) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id := range ms.leading {
		all = append(all, pgstore.Account{Chain: id.chain, Account: id.account})
	}
	return all
}

func (ms *managers) wakeAll() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.leading {
		m.Wake()
	}
}
