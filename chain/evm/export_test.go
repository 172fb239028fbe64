package evm

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

// SetLinkPatience sets how long one look waits for the final block to be linked.
func SetLinkPatience(c *Chain, wait time.Duration) { c.linkPatience = wait }

// Status reads a binary receipt.
var Status = status

// Patience returns for how long a line may be silent, after heads with pauses before them and some lines that
// fell silent.
func Patience(c *Chain, heads []uint64, pause func(), silences int) time.Duration {
	for _, n := range heads {
		pause()
		c.pace.notice(n)
	}
	for range silences {
		c.pace.fellSilent()
	}
	return c.patience()
}

// Denials denies a line of one block three times, the third time after a pause, and reports whether each drops it.
func Denials(pause func()) (dropped [3]bool) {
	var l links
	for i := range dropped {
		if i == 2 {
			pause()
		}
		_ = l.thread.Rise(chain.Block{Number: 1, Hash: "1"}, nil) // one block needs no look
		l.denied()
		dropped[i] = l.thread.Newest().Hash == ""
	}
	return dropped
}

// KeepsDenied reports whether a line that is denied while it is lengthened is there again afterwards.
func KeepsDenied() bool {
	var l links
	_ = l.thread.Rise(chain.Block{Number: 9, Hash: "bad"}, nil)
	walk, drops := l.begin(9)
	l.denied()
	l.end(walk, drops, 9, nil, "")
	return l.thread.Newest().Hash == "bad"
}

// Budget is an endpoint's budget.
type Budget struct{ b budget }

// NewBudget returns the budget of an endpoint that takes so many units a second; 0: that is not known.
func NewBudget(perSecond float64, costs map[string]float64) *Budget {
	return &Budget{budget{costs: costs, allowance: newAllowance(perSecond, time.Now())}}
}

// The kinds of requests.
const (
	Heads  = urgentHeads
	Sends  = urgentSends
	Quotes = urgentQuotes
	Blocks = urgentBlocks
	Looks  = urgentLooks
	Search = urgentSearch
)

// Urgently returns a context whose requests are of a kind.
var Urgently = urgently

func (b *Budget) Wait(ctx context.Context, calls int) error     { return b.b.wait(ctx, float64(calls)) }
func (b *Budget) Most(configured int) int                       { return b.b.fit(make([]rpc.BatchElem, configured)) }
func (b *Budget) Busy(ctx context.Context, n int) time.Duration { return b.b.busy(ctx, float64(n)) }
func (b *Budget) Cost(calls ...rpc.BatchElem) float64           { return b.b.cost(calls) }
func (b *Budget) Note(err error, calls ...rpc.BatchElem)        { b.b.note(err, calls) }

// Limit replaces the configured rate, and returns the one that is kept to.
func (b *Budget) Limit(rate float64) float64 {
	b.b.limit(rate)
	return b.b.allowance.rate
}

// Took notes that calls were answered.
func (b *Budget) Took(calls int) { b.b.note(nil, make([]rpc.BatchElem, calls)) }

// Refused notes that a request was refused for its number.
func (b *Budget) Refused(after time.Duration) { refuse(&b.b, after) }

// TakesNoMore lets the endpoint refuse calls for some time.
func TakesNoMore(c *Chain, after time.Duration) { refuse(&c.endpoint.budget, after) }

func refuse(b *budget, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowance.refused(time.Now(), 1, after)
}

// UrgencyOfSend is how urgent a Submit with this context is.
func UrgencyOfSend(ctx context.Context) urgency { return urgencyOfSend(ctx) }

// Ask makes a single call of an endpoint.
func Ask(ctx context.Context, url, method string) (answer string, err error) {
	e := newEndpoint(Config{URL: url, Timeout: 5 * time.Second, MaxAnswer: 1 << 20})
	defer e.close()
	err = e.call(ctx, &answer, method)
	return answer, err
}
