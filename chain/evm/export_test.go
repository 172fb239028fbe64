package evm

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
)

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

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

// Allowance is an endpoint's allowance.
type Allowance struct{ a allowance }

func (a *Allowance) Wait(ctx context.Context, calls int) error   { return a.a.wait(ctx, calls) }
func (a *Allowance) Took(now time.Time, calls int)               { a.a.took(now, calls) }
func (a *Allowance) Refused(now time.Time, after time.Duration)  { a.a.refused(now, after) }
func (a *Allowance) Most(configured int) int                     { return a.a.most(configured) }
func (a *Allowance) Busy(now time.Time, calls int) time.Duration { return a.a.busy(now, calls) }

// TakesNoMore lets the endpoint refuse calls for some time.
func TakesNoMore(c *Chain, after time.Duration) { c.endpoint.budget.refused(time.Now(), after) }
