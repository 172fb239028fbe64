package evm

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

// Status reads a binary receipt.
var Status = status

// MaxLag is how many looks in a row may show an ancestor of the head before it counts.
const MaxLag = maxLag
