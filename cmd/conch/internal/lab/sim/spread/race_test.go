//go:build race

package spread_test

// raced: the race detector makes a world some ten times slower. A run has one goroutine, so a few are enough for it.
const raced = true
