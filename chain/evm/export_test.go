package evm

import "time"

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

// Status reads a binary receipt.
var Status = status

// Patience returns for how long a line may be silent.
func (c *Chain) Patience() time.Duration { return c.patience() }

// NoticeHead takes the height of a head.
func (c *Chain) NoticeHead(number uint64) { c.pace.notice(number) }

// FallSilent notes that a line was given up.
func (c *Chain) FallSilent() { c.pace.fellSilent() }
