package pending

import "fmt"

// Status is what is known of a slot's transaction, in the words of requirement
// S26. It is derived from what was seen and never stored as a truth of its own.
type Status uint8

const (
	// Future: stored, and not yet handed to a node. A transaction whose node waits
	// for a lower index is future too.
	Future Status = iota
	// Ready: a node has it and it is the next one that can be included.
	Ready
	// Broadcast: a node has it and others of the account come first.
	Broadcast
	// InBlock: it is in a block of the best chain.
	InBlock
	// Retracted: it was in a block that is not in the chain any more; it is sent again.
	Retracted
	// Finalized: it is in a block that stays.
	Finalized
	// Usurped: another transaction took its slot for good.
	Usurped
	// Dropped is said of an attempt that a node has lost; its slot is sent again.
	Dropped
	// Invalid is said of an attempt that the chain will never take, and of an intent
	// whose call it does not take.
	Invalid
	// FinalityTimeout: in a block for long without being finalized. It is still watched.
	FinalityTimeout
)

var statuses = [...]string{
	"future", "ready", "broadcast", "in_block", "retracted",
	"finalized", "usurped", "dropped", "invalid", "finality_timeout",
}

func (s Status) String() string { return statuses[s] }

// Terminal tells the statuses after which nothing more is expected (S26).
func (s Status) Terminal() bool { return s >= Finalized }

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
