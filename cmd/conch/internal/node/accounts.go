package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Account is an account of a chain that one service keeps and others may use: so they need neither know each other nor
// open its key twice.
type Account struct {
	Chain     string // its name in the configuration
	ID        uint64 // of the chain
	Address   chain.Account
	Endpoints []string // their URLs, which may have secrets
	Calls     Calls    // has calls sent by the node that leads the account
	// Dial returns the connection to the chain, which all users in this process share, until release is called.
	Dial func() (line chain.Chain, release func(), err error)
	// Sign signs a hash. It is nil if the key is in an external signer, which signs transactions alone.
	Sign func(hash [32]byte) ([]byte, error)
}

// Calls has calls sent from an account for another service. Their keys are in a space of their own: no user can find, use or meet
// them. It is safe for concurrent use.
type Calls interface { //nolint:interfacebloat // what becomes of a call, from its acceptance to its end
	// Accept has a call sent, in order and once for each key, and returns its ID. Without an error it is stored. The key
	// of a call that has ended names that one still. Once the block last is there, the call gets no nonce any more, and is lost; 0: it
	// always does.
	Accept(ctx context.Context, key string, call chain.Call, last uint64) (id string, err error)
	// UnderWay returns the calls to an account that Accept has taken, in any process, and that have not ended, the oldest first.
	UnderWay(ctx context.Context, to []byte) ([]Accepted, error)
	// Lost reports whether a call has ended without an effect, and why.
	Lost(ctx context.Context, id string) (is bool, why string, err error)
	// Withdraw asks to take a call back. One without a nonce is never sent.
	Withdraw(ctx context.Context, id string) error
	// Heed has told called with the ID of each call of the account, also of users, that ends without an effect, as soon as this process
	// hears of it, until leave is called. It may miss some. told must not block.
	Heed(told func(id string)) (leave func())
	// Forget deletes up to most of the oldest calls that Accept has taken and that have ended for that long, by the store's
	// clock. Then Lost says that they are lost, and their keys are new ones.
	Forget(ctx context.Context, age time.Duration, most int) (gone int, err error)
}

// Accepted is a call that has not ended.
type Accepted struct {
	ID, Key  string
	Call     chain.Call
	Signed   bool   // it has a nonce, and bytes that may have left
	Included bool   // it is in a block that is not final
	Waits    string // what is in its way, empty if nothing is known to be
}

// Offers is a role's work (config.Role.Does) that keeps an account. So a service can look at the account of another one
// without a node that runs.
type Offers interface {
	// Offered returns the account without its functions, and whether its key signs hashes.
	Offered() (a Account, signs bool)
}

// Offered returns the account of that name in a configuration. The error is ErrNoAccount.
func Offered(c config.Config, name string) (a Account, signs bool, err error) {
	for _, r := range c.Settled() {
		if o, is := r.Does.(Offers); is && r.Name == name {
			a, signs = o.Offered()
			return a, signs, nil
		}
	}
	return a, false, fmt.Errorf("%w: %q", ErrNoAccount, name)
}

// ErrNoAccount means that no account has that name.
var ErrNoAccount = errors.New("no [[accounts]] has that name")

// Accounts is where services find them. It is safe for concurrent use.
type Accounts struct {
	mu       sync.Mutex
	find     func(name string) (Account, error)
	harmless []func(chain.Call) bool
}

// Offer is called once, by the service that keeps the accounts.
func (a *Accounts) Offer(find func(name string) (Account, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.find = find
}

// Excuse is called by a service whose calls do no harm when they are done twice: they are sent again if a restored database
// has lost whether they were.
func (a *Accounts) Excuse(harmless func(chain.Call) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.harmless = append(a.harmless, harmless)
}

// Harmless reports whether some service says so of a call.
func (a *Accounts) Harmless(call chain.Call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.harmless, func(is func(chain.Call) bool) bool { return is(call) })
}

// Find returns the account with a name. The error is ErrNoAccount, or says what prevents its use.
func (a *Accounts) Find(name string) (Account, error) {
	a.mu.Lock()
	find := a.find
	a.mu.Unlock()
	if find == nil {
		return Account{}, fmt.Errorf("%w: %q", ErrNoAccount, name)
	}
	return find(name)
}
