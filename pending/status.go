package pending

import (
	"fmt"
	"slices"
)

// Status is the state of a slot's transaction, in the words of S26, derived from its attempts.
type Status uint8

const (
	// Future: stored, and not known to be with a node.
	Future Status = iota
	// Ready: a node has accepted it.
	Ready
	// Broadcast: it was found in a node's pool.
	Broadcast
	// InBlock: it is in a block of the best chain.
	InBlock
	// Retracted: its block has left the best chain. It is sent again.
	Retracted
	// Finalized: it is in a final block.
	Finalized
	// Usurped: another transaction is in a final block with its nonce, or the nonce is used up without one (W14).
	Usurped
	_ // dropped, which is reserved: an attempt that a node has dropped is sent again, and Future until then
	_ // invalid, which is reserved: a slot whose attempt the chain refuses is filled and becomes Usurped
	// FinalityTimeout: in a block for [Config.FinalAfter], not final, and still watched. It is no end.
	FinalityTimeout
)

var statuses = [...]string{
	"future", "ready", "broadcast", "in_block", "retracted",
	"finalized", "usurped", "dropped", "invalid", "finality_timeout",
}

// Statuses returns the words of all statuses, in the order of S26.
func Statuses() []string { return slices.Clone(statuses[:]) }

func (s Status) String() string { return statuses[s] }

// closes reports whether the status ends a slot. After FinalityTimeout it may still become final.
func (s Status) closes() bool { return s == Finalized || s == Usurped }

// MarshalText returns the status's word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status's word.
func (s *Status) UnmarshalText(text []byte) error {
	for i, word := range statuses {
		if word == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a status of a transaction", text)
}
