//go:build race

package sim_test

// raced: the race detector makes a world some six times slower. Each has one goroutine, so a slice is enough for it; make test
// runs all of them without it.
const raced = true
