package transactions

import (
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/feed"
)

// chains has the connections to chains. All accounts of a chain share one, which is closed with its last user.
type chains struct {
	signed func(by accountID, took time.Duration) // see evm.Keys; nil: nobody is told

	mu   sync.Mutex
	open map[Chain]*connection
}

// connection is a chain with the keys of those accounts that use it.
type connection struct {
	users  int
	driver chain.Chain
	keys   *evm.Keys
	feed   *feed.Feed
}

// acquire returns the connection to a chain until release is called, and connects if there is none.
func (c *chains) acquire(to Chain, dial func(Chain, *evm.Keys) (chain.Chain, error)) (shared *connection, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shared = c.open[to]
	if shared == nil {
		shared = &connection{keys: &evm.Keys{}}
		if c.signed != nil {
			shared.keys.Signed = func(by chain.Account, took time.Duration) { c.signed(accountID{to.ID(), by}, took) }
		}
		if shared.driver, err = dial(to, shared.keys); err != nil {
			return nil, nil, err
		}
		shared.feed = feed.New(shared.driver)
		if c.open == nil {
			c.open = map[Chain]*connection{}
		}
		c.open[to] = shared
	}
	shared.users++
	return shared, func() { c.release(to, shared) }, nil
}

func (c *chains) release(to Chain, shared *connection) {
	c.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last {
		delete(c.open, to)
	}
	c.mu.Unlock()
	if !last {
		return
	}
	shared.feed.Close() // not under the lock: it waits for questions, and other chains must not wait for them
	disconnect(shared.driver)
}

// driver connects to an account's chain. The caller closes it by the returned function.
func (s *service) driver(a Account) (chain.Chain, func(), error) {
	shared, release, err := s.chains.acquire(a.Chain, s.connect)
	if err != nil || s.dial != nil {
		return shared.of(a), release, err
	}
	signer, err := s.keyring.open(a)
	if err != nil {
		release()
		return nil, nil, err
	}
	remove := shared.keys.Add(signer)
	return shared.of(a), func() { remove(); release(); disconnect(signer) }, nil
}

// of returns the chain for one account, nil if there is no connection.
func (c *connection) of(a Account) chain.Chain {
	if c == nil {
		return nil
	}
	return c.feed.Of(a.Address)
}

func (s *service) connect(c Chain, keys *evm.Keys) (chain.Chain, error) {
	if s.dial != nil {
		return s.dial(c)
	}
	return connect(c, s.aboutEndpoints(c), keys, s.sharing.open)
}
