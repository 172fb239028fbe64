//go:build race

package overlay

// raced: the race detector makes a world some six times slower. A world has one goroutine, so a few are enough for it; make
// test runs all of them without it.
const raced = true
