package evm

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

// Status reads a binary receipt.
var Status = status
