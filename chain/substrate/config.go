package substrate

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/internal/faults"
)

// Config configures a Chain. URL and Genesis are required.
type Config struct {
	// URL of the endpoint, with the scheme ws or wss. It may carry a secret.
	URL string
	// Header goes with the request that opens a connection, for an endpoint that needs a token.
	Header http.Header
	// Genesis is the hash of the chain's first block, 32 bytes.
	Genesis chain.Hash
	// Signers sign, each for one account.
	Signers []key.Signer
	// Mortality is for how many blocks a signed attempt is good: a power of two from 16 to 256; default 64 (Z1).
	Mortality uint64
	// AllowReaping takes calls that may end their account (Z20). Whatever was signed in a life before may then be carried out again.
	AllowReaping bool
	// Timeout bounds one call; default 10 s.
	Timeout time.Duration
	// Poll is the time between looks at the head while the endpoint tells of none; default 1 s.
	Poll time.Duration
	// MaxAnswer is the most bytes of one answer; default 64 MiB.
	MaxAnswer int
	// MaxPending is how many of an account's transactions the node's pool keeps; 0 if unknown.
	MaxPending int
	// Unproven takes bodies that do not fit the root in their header, as those of Chopsticks. Never set it for a chain with money on it.
	Unproven bool
}

// Validate returns every fault, joined.
func (c Config) Validate() error {
	var f faults.List
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" {
		f.Add(true, "the URL cannot be read: write it like ws://127.0.0.1:9944")
	} else {
		f.Add(u.Scheme != "ws" && u.Scheme != "wss", "the URL's scheme is %q: use ws or wss", u.Scheme)
	}
	f.Add(len(c.Genesis) != 32, "the genesis has %d bytes, and a hash has 32: a transaction for one chain is worthless on another", len(c.Genesis))
	f.Add(c.Mortality != 0 && (c.Mortality < 16 || c.Mortality > 256 || c.Mortality&(c.Mortality-1) != 0), "a mortality of %d blocks: take a power of two from 16 to 256", c.Mortality)
	seen := map[chain.Account]bool{}
	for _, s := range c.Signers {
		f.Add(seen[s.Account()], "two signers for %v: keep one", s.Account())
		seen[s.Account()] = true
	}
	f.Add(c.Timeout < 0 || c.Poll < 0 || c.MaxAnswer < 0 || c.MaxPending < 0, "a time or a limit is below zero")
	return f.All()
}

// String leaves out secrets.
func (c Config) String() string { return fmt.Sprintf("chain %v at %s", c.Genesis, rpc.Shown(c.URL)) }

// Format leaves out secrets, for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out secrets.
func (c Config) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", c.String()), nil }
