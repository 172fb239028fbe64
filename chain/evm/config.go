package evm

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/chain"
)

const (
	defaultTimeout = 10 * time.Second
	defaultPoll    = 500 * time.Millisecond
	defaultBatch   = 500
	defaultBody    = 4 << 20
	defaultDepth   = 64
)

// Config says how to reach a chain.
type Config struct {
	// URL of the endpoint: http, https, ws or wss. It may carry a secret.
	URL string
	// Header goes with every request, for an endpoint that wants a token.
	Header http.Header
	// ChainID is the chain that the endpoint must serve.
	ChainID uint64
	// Signers sign, each for one account.
	Signers []Signer
	// Depth below the head at which a block is final; 0: as the chain says, or 64
	// blocks if it says nothing. Less than 4096, which is as many as are remembered.
	Depth uint64
	// Timeout of one request; 10 s unless given.
	Timeout time.Duration
	// Poll is the time between looks at the head; 500 ms unless given.
	Poll time.Duration
	// MaxBatch is how many calls one request may carry; 500 unless given. Common nodes
	// take 1000, providers fewer.
	MaxBatch int
	// MaxBody is how many bytes one request may have; 4 MiB unless given, since common
	// nodes refuse 5.
	MaxBody int
	// MaxPending is how many of an account's transactions the node keeps in its pool;
	// 0: not known. No node says what its limits are.
	MaxPending int
	// MaxGas is the most that one transaction may spend, if that is less than the chain
	// allows; 0: as the chain allows.
	MaxGas uint64
}

// Validate lists every fault.
func (c Config) Validate() error {
	var faults []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" {
		faults = append(faults, errors.New("the URL cannot be read: write it like http://127.0.0.1:8545"))
	} else if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss" {
		faults = append(faults, fmt.Errorf("the URL's scheme is %q: use http, https, ws or wss", u.Scheme))
	}
	if c.ChainID == 0 {
		faults = append(faults, errors.New("the chain ID is missing: a transaction for one chain is worthless on another"))
	}
	seen := map[chain.Account]bool{}
	for _, s := range c.Signers {
		if a := s.Account(); seen[a] {
			faults = append(faults, fmt.Errorf("two signers for %v: keep one", a))
		} else {
			seen[a] = true
		}
	}
	if c.Depth >= remembered {
		faults = append(faults, fmt.Errorf("final %d blocks below the head: only %d are remembered, use a smaller depth", c.Depth, remembered))
	}
	if c.Timeout < 0 || c.Poll < 0 || c.MaxBatch < 0 || c.MaxBody < 0 || c.MaxPending < 0 {
		faults = append(faults, errors.New("a time or a limit is below zero"))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Poll == 0 {
		c.Poll = defaultPoll
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = defaultBatch
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultBody
	}
	return c
}

// String leaves out what may be secret.
func (c Config) String() string { return fmt.Sprintf("chain %d at %s", c.ChainID, shown(c.URL)) }

// GoString leaves out what may be secret.
func (c Config) GoString() string { return "evm.Config(" + c.String() + ")" }

// Format leaves out what may be secret, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out what may be secret.
func (c Config) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", c.String())), nil }

// shown is of a URL what may be shown: no user, no path, no query.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(no URL)"
	}
	return u.Scheme + "://" + u.Host
}
