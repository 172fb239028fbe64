package budget

import (
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Rate returns the rate that is kept to.
func (b *Budget) Rate() float64 { return b.allowance.rate }

// Most returns how many calls a request has, of so many.
func (b *Budget) Most(calls int) int { return b.FitCalls(make([]rpc.BatchElem, calls)) }

// Took notes that calls were answered.
func (b *Budget) Took(calls int) { b.NoteAnswers(nil, make([]rpc.BatchElem, calls)) }

// Refused notes that a request was refused for its number.
func (b *Budget) Refused(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowance.noteRefused(time.Now(), 1, after)
}
