package evm

import (
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
