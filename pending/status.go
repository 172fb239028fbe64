package pending

import (
	"fmt"
	"slices"
)

// Status is what is known of a slot's transaction, in the words of requirement
// S26. It is derived from what was seen and never stored as a truth of its own.
type Status uint8

const (
	// Future: stored, and not yet handed to a node. A transaction whose node waits
	// for a lower index is future too.
	Future Status = iota
	// Ready: a node has said that it took it.
	Ready
	// Broadcast: it was seen in a node's pool.
	Broadcast
	// InBlock: it is in a block of the best chain.
	InBlock
	// Retracted: it was in a block that is not in the chain any more; it is sent again.
	Retracted
	// Finalized: it is in a block that stays.
	Finalized
	// Usurped: another transaction took its slot for good.
	Usurped
	// Dropped is reserved, a word of S26: a slot whose attempt a node has lost is sent
	// again, and is Future until then.
	Dropped
	// Invalid is reserved, a word of S26: a slot whose attempt the chain will never take is
	// filled, and Usurped; its intent is rejected, and says why.
	Invalid
	// FinalityTimeout: in a block for long without being finalized. It is still watched.
	FinalityTimeout
)

var statuses = [...]string{
	"future", "ready", "broadcast", "in_block", "retracted",
	"finalized", "usurped", "dropped", "invalid", "finality_timeout",
}

// Statuses are the words of all, in the order of S26.
func Statuses() []string { return slices.Clone(statuses[:]) }

func (s Status) String() string { return statuses[s] }

// closes tells those that end a slot: what timed out may still become final, and is
// watched until it does.
func (s Status) closes() bool { return s == Finalized || s == Usurped }

// MarshalText writes the word of S26.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it.
func (s *Status) UnmarshalText(text []byte) error {
	for i, word := range statuses {
		if word == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no status of a transaction", text)
}
