//go:build !race

package worldtest

// Raced is false: this build has no race detector.
const Raced = false
