package evm

import (
	"cmp"
	"slices"
	"sync"
)

// UnknownError is an error of a node in words that conch does not know.
type UnknownError struct {
	Method string
	Code   int
	// Text is without secrets, and has placeholders for what differs from one error to the next: URLs,
	// keys, addresses, hashes and numbers.
	Text  string
	Count int
}

// keptUnknown bounds how many unknown errors of a chain are remembered.
const keptUnknown = 32

// unknown has the unknown errors of all endpoints of this process. A node has a driver for each
// account, and a person wants one list.
var unknown = unknownErrors{chains: map[uint64][]UnknownError{}}

// unknownErrors are unknown errors by chain ID, the oldest first. Safe for concurrent use.
type unknownErrors struct {
	mu     sync.Mutex
	chains map[uint64][]UnknownError
}

// UnknownErrors returns the unknown errors that endpoints of this chain gave to this process, the most
// frequent first.
func (c *Chain) UnknownErrors() []UnknownError { return unknown.of(c.cfg.ChainID) }

func (c *Chain) noteUnknown(method string, code int, text string) {
	unknown.add(c.cfg.ChainID, UnknownError{Method: method, Code: code, Text: redact(text, c.endpoint.secrets())})
}

// add counts an error. Where there is no room, it takes the place of the oldest of the rarest.
func (u *unknownErrors) add(chainID uint64, e UnknownError) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.chains[chainID]
	for i, known := range all {
		if known.Method == e.Method && known.Code == e.Code && known.Text == e.Text {
			all[i].Count++
			return
		}
	}
	if len(all) >= keptUnknown {
		rarest := 0
		for i, known := range all {
			if known.Count < all[rarest].Count {
				rarest = i
			}
		}
		all = slices.Delete(all, rarest, rarest+1)
	}
	e.Count = 1
	u.chains[chainID] = append(all, e)
}

func (u *unknownErrors) of(chainID uint64) []UnknownError {
	u.mu.Lock()
	all := slices.Clone(u.chains[chainID])
	u.mu.Unlock()
	slices.SortStableFunc(all, func(a, b UnknownError) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
