package evm

import "time"

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
