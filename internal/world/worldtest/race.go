//go:build race

package worldtest

// Raced: the race detector makes a world some ten times slower. A run has one goroutine, so a few are enough for it; make test
// runs the rest without it.
const Raced = true
