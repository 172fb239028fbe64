package evm

import (
	"cmp"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/faults"
)

const (
	defaultTimeout  = 10 * time.Second
	defaultPoll     = 500 * time.Millisecond
	defaultBatch    = 500
	defaultBody     = 4 << 20
	defaultAnswer   = 64 << 20
	defaultMinDepth = 2

	stillInstant = 2 * time.Second
	stillDepth   = time.Minute
)

// Config configures a Chain. URL and ChainID are required.
type Config struct {
	// URL of the endpoint, with the scheme http, https, ws or wss. It may carry a secret.
	URL string
	// Header goes with every request, for an endpoint that needs a token.
	Header http.Header
	// ChainID is the chain that the endpoint must serve.
	ChainID uint64
	// Signers sign, each for one account.
	Signers []Signer
	// Keys has the signers of accounts that come and go; several Chains may share one. It is optional.
	Keys *Keys
	// Depth is how many blocks below the head a block is final, below 4096; 0 takes the chain's tag
	// "finalized". A chain without that tag needs a Depth, or Instant.
	Depth uint64
	// MinDepth is how many blocks below the head a block is final at most, if the tag names a higher
	// one; default 2. An endpoint may call final what its network takes back.
	MinDepth uint64
	// Instant says that a block is final as soon as it is the head.
	Instant bool
	// StillAfter is for how long the head has to stand until time counts in the place of blocks: a chain that makes them on
	// demand makes none while nobody sends. Default: 2 s with Instant, a minute with a Depth, and never where the chain
	// names its final blocks; below 0: never.
	StillAfter time.Duration
	// Timeout bounds one request; default 10 s.
	Timeout time.Duration
	// Poll is the shortest interval between looks at the head; default 500 ms. It is half the time of a block, up
	// to 4 s, where that is longer.
	Poll time.Duration
	// MaxBatch is the most calls in one request; default 500. Nodes take 1000, providers fewer.
	MaxBatch int
	// MaxBody is the most bytes in one request; default 4 MiB, since common nodes refuse 5.
	MaxBody int
	// MaxAnswer is the most bytes of one answer; default 64 MiB, several times those of the largest block.
	MaxAnswer int
	// MaxPending is how many of an account's transactions the node's pool keeps; 0 if unknown.
	MaxPending int
	// MaxCallsPerSecond is how many calls the endpoint takes, in units of Costs; 0: it is learned from what it
	// refuses. More than it allows are not made, and the most urgent ones go first.
	MaxCallsPerSecond float64
	// Costs are the units of methods that cost more or less than one.
	Costs map[string]float64
	// MaxGas limits what one transaction may spend; 0: as the chain allows.
	MaxGas uint64
	// MinTip is the lowest tip for a unit of gas that an attempt offers, in wei; nil: 0. Without it, an endpoint that
	// suggests no tip, in any of the ways that there are, gets none.
	MinTip *big.Int
}

// Validate returns every fault, joined.
func (c Config) Validate() error {
	var f faults.List
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" {
		f.Add(true, "the URL cannot be read: write it like http://127.0.0.1:8545")
	} else {
		f.Add(!slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme), "the URL's scheme is %q: use http, https, ws or wss", u.Scheme)
	}
	f.Add(c.ChainID == 0, "the chain ID is missing: a transaction for one chain is worthless on another")
	seen := map[chain.Account]bool{}
	for _, s := range c.Signers {
		f.Add(seen[s.Account()], "two signers for %v: keep one", s.Account())
		seen[s.Account()] = true
	}
	f.Add(c.Depth >= remembered, "final %d blocks below the head: only %d are remembered, use a smaller depth", c.Depth, remembered)
	f.Add(c.Instant && c.Depth > 0, "a block cannot be final at once and at a depth: take one of the two")
	f.Add(c.MinDepth >= remembered, "a least depth of %d blocks: only %d are remembered, use a smaller one", c.MinDepth, remembered)
	f.Add(c.Timeout < 0 || c.Poll < 0 || c.MaxBatch < 0 || c.MaxBody < 0 || c.MaxAnswer < 0 || c.MaxPending < 0 || c.MaxCallsPerSecond < 0 || c.MinTip != nil && c.MinTip.Sign() < 0,
		"a time or a limit is below zero")
	return f.All()
}

func (c Config) withDefaults() Config {
	switch {
	case c.StillAfter != 0:
		c.StillAfter = max(0, c.StillAfter)
	case c.Instant:
		c.StillAfter = stillInstant
	case c.Depth > 0:
		c.StillAfter = stillDepth
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.MinDepth = cmp.Or(c.MinDepth, defaultMinDepth)
	c.Keys = cmp.Or(c.Keys, new(Keys))
	c.MaxBatch = cmp.Or(c.MaxBatch, defaultBatch)
	c.MaxBody = cmp.Or(c.MaxBody, defaultBody)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, defaultAnswer)
	return c
}

// String leaves out secrets.
func (c Config) String() string { return fmt.Sprintf("chain %d at %s", c.ChainID, shown(c.URL)) }

// GoString leaves out secrets.
func (c Config) GoString() string { return "evm.Config(" + c.String() + ")" }

// Format leaves out secrets, for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out secrets.
func (c Config) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", c.String())), nil }

// shown returns the scheme and host of a URL: the user, path and query may be secret.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(no URL)"
	}
	return u.Scheme + "://" + u.Host
}
